import { Argument, Command, type Option } from "commander";

import type { DnsImportResponse } from "../../client/package/index.ts";
import { completionScript, completionsOf, type Shell, shells } from "./completion.ts";
import { exitCodes, Failure } from "./failures.ts";
import { addFunction, addGlobalOptions } from "./functions.ts";
import { commandSpecs, groupSpecs } from "./generated/commands.ts";
import { login, logout, useAccount, whoami } from "./login.ts";
import { importMailboxes } from "./mailbox-import.ts";
import { formOf, print, printAnswer, printNote, tableOf } from "./output.ts";
import { readText } from "./read-text.ts";
import { accountFor, clientFor, type GlobalOptions } from "./session.ts";
import { tailAudit } from "./tail.ts";

const introduction = `Manages domains, mailboxes and everything else of a hosted-mail account.

Each function of the API is a command: mailboxes.add is "mailboxes add".`;

const examples = `
Examples:
  hosted-mail login --base-url https://api.example.com
  hosted-mail domains list
  hosted-mail mailboxes add --domain example.com --local-part ann --first-name Ann --last-name Lee
  hosted-mail mailboxes import people.csv
  hosted-mail dns import zone.txt --domain example.com --dry-run
  hosted-mail domains list --json | jq -r '.[].name'

Exit codes: 0 done, 1 refused or partly failed, 2 wrong use, 3 not logged in, 4 no answer, 130 stopped.`;

/** The names of the commands of a group, such as `create` for `domains auth-code`. */
const commandsBelow = (words: readonly string[]): string[] => {
  const below = commandSpecs.filter(({ name }) => name.startsWith(`${words.join(".")}.`));
  return [...new Set(below.map(({ name }) => (name.split(".")[words.length] ?? "").replaceAll("_", "-")))];
};

/** Returns the group of commands under these words. Creates a missing group. */
function groupOf(program: Command, words: readonly string[]): Command {
  let at = program;
  for (const [index, word] of words.entries()) {
    const name = word.replaceAll("_", "-");
    const known = groupSpecs.find((one) => one.name === words.slice(0, index + 1).join("."));
    const found = at.commands.find((one) => one.name() === name);
    at =
      found ??
      at
        .command(name)
        .description(known?.description ?? `Commands: ${commandsBelow(words.slice(0, index + 1)).join(", ")}`);
  }
  return at;
}

function addAccess(program: Command): void {
  const enter = program.command("login").description("Store a token on this machine, after the API has accepted it");
  enter.option("--token-stdin", "read the token from the standard input instead of asking for it");
  addGlobalOptions(enter).addHelpText("after", "\nExample:\n  hosted-mail login --token-stdin < token.txt");
  enter.action(() => login(enter.optsWithGlobals()));
  const leave = addGlobalOptions(program.command("logout").description("Remove the token from this machine"));
  leave.action(() => logout(leave.optsWithGlobals()));
  const who = addGlobalOptions(program.command("whoami").description("Show the owner of the token and the account"));
  who.action(() => whoami(who.optsWithGlobals()));
  const use = addGlobalOptions(groupOf(program, ["accounts"]).command("use").argument("<id>", "The account's id."));
  use.description("Choose the account of the following commands");
  use.action((id: string) => useAccount(id, use.optsWithGlobals()));
}

function addMailboxImport(program: Command): void {
  const command = groupOf(program, ["mailboxes"])
    .command("import")
    .argument(
      "<file>",
      "a CSV file with the columns email, first_name, last_name, and perhaps quota_allowed (bytes); or - for the standard input",
    )
    .summary("Create the mailboxes of a CSV file")
    .description(
      "Create the mailboxes of a CSV file\n\nMailboxes that exist are skipped, so you can run the command again after an interruption. The command writes the failed rows and their errors to a CSV file. Correct this file and import it.",
    )
    .option(
      "--report <file>",
      "the file for the failed rows; by default people.failed.csv for people.csv, and failed.csv for the standard input",
    )
    .option("--dry-run", "check the file and count the mailboxes without creating any");
  addGlobalOptions(command).addHelpText("after", "\nExample:\n  hosted-mail mailboxes import people.csv");
  command.action(async (file: string) => {
    const options = command.optsWithGlobals<GlobalOptions & { report?: string; dryRun?: boolean }>();
    // A long import reaches the rate limit, so its requests have to wait.
    const client = clientFor(options, { retries: 8, longestWaitMs: 60_000 });
    const account_id = await accountFor(options, client);
    const report = options.report ?? (file === "-" ? "failed.csv" : `${file.replace(/\.csv$/i, "")}.failed.csv`);
    const isDry = options.dryRun === true;
    const found = await importMailboxes(client, { account_id, file, report, isDry });
    const { created, ...others } = found;
    printAnswer(isDry ? { to_create: created, ...others } : found, formOf(options));
    if (found.failed > 0)
      throw new Failure(`${counted(found.failed, "row")} failed. The reasons are in ${report}.`, exitCodes.failed);
  });
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

type ImportOptions = GlobalOptions & { domain?: string; publicDns?: boolean; dryRun?: boolean };

/** The domain name in the first `$ORIGIN` of a zone file. Skips an `$ORIGIN` that is the root of the DNS. */
const originIn = (zone: string): string | undefined => /^\$ORIGIN\s+([^\s;]*[^\s;.])\.?\s*(?:;.*)?$/im.exec(zone)?.[1];

/** Matches an entry of a zone file if the entry contains the name of a record type. */
const recordText =
  /\s(?:A|AAAA|ALIAS|ANAME|APL|CAA|CDNSKEY|CDS|CERT|CNAME|DLV|DNAME|DNSKEY|DS|HINFO|HTTPS|KEY|LOC|MX|NAPTR|NS|NSEC|NSEC3|NSEC3PARAM|NXT|OPENPGPKEY|PTR|RP|RRSIG|SIG|SMIMEA|SOA|SPF|SRV|SSHFP|SVCB|TLSA|TXT|TYPE\d+|URI)(?:\s|$)/i;

/**
 * Throws a `Failure` if no record was created and a skipped entry contains no record type. The file is then probably no
 * zone file. Skipped records, such as those that the domain has already, are no failure.
 */
function requireRecords({ created_count, skipped }: DnsImportResponse): void {
  const typelessEntry = created_count === 0 ? skipped.find(({ text }) => !recordText.test(` ${text}`)) : undefined;
  if (typelessEntry)
    throw new Failure(`No record was imported. Line ${typelessEntry.line}: ${typelessEntry.reason}.`, exitCodes.failed);
}

/** The greatest length of a zone file that the API accepts, in UTF-16 code units. */
const longestZone = 1_000_000;

/** The text of a zone file. Throws a `Failure` if the text is empty, or too long for the API. */
function readZone(file: string): string {
  const text = readText(file);
  const shown = file === "-" ? "The standard input" : file;
  if (text.trim() === "") throw new Failure(`${shown} is empty. It needs at least one record.`);
  if (text.length > longestZone) throw new Failure(`${shown} has more than ${longestZone} characters.`);
  return text;
}

function addZoneImport(program: Command): void {
  const group = groupOf(program, ["dns_records"]).alias("dns");
  const command = group
    .command("import")
    .argument("[file]", "a zone file as BIND writes it, or - for the standard input")
    .summary("Import a zone file, or the records in the public DNS")
    .description(commandSpecs.find(({ name }) => name === "dns_records.import")?.description ?? "")
    .option("--domain <text>", "the domain; by default the $ORIGIN of the file")
    .option("--public-dns", "instead of a file, import the records from the domain's present nameservers")
    .option("--dry-run", "report the result without importing anything");
  addGlobalOptions(command).addHelpText(
    "after",
    "\nExample:\n  hosted-mail dns import zone.txt --domain example.com --dry-run",
  );
  command.action(async (file: string | undefined) => {
    const options = command.optsWithGlobals<ImportOptions>();
    if ((file === undefined) !== (options.publicDns === true)) throw new Failure("Give a zone file, or --public-dns.");
    const zone_file = file === undefined ? undefined : readZone(file);
    const domain = options.domain ?? (zone_file === undefined ? undefined : originIn(zone_file));
    if (domain === undefined)
      throw new Failure(
        file === undefined
          ? "Which domain? Give --domain."
          : "Which domain? Give --domain, because the file has no $ORIGIN.",
      );
    const client = clientFor(options);
    const source = zone_file === undefined ? ({ source: "public_dns" } as const) : { zone_file };
    const account_id = await accountFor(options, client);
    const found = await client.dns_records.import({ account_id, domain, ...source, dry_run: options.dryRun === true });
    if (formOf(options) === "people") printImport(found);
    else printAnswer(found, formOf(options));
    requireRecords(found);
  });
}

/** Prints the result of an import for people: the records, the skipped entries, and their numbers. */
function printImport(found: DnsImportResponse): void {
  const records = found.dry_run ? found.planned : found.created;
  // Only a few types of records have these members.
  const extraColumns = (["weight", "port", "flags", "tag"] as const).filter((name) =>
    records.some((one) => one[name] !== null),
  );
  const columns = ["name", "type", "ttl", "priority", ...extraColumns, "value"];
  if (records.length > 0) print(tableOf(records as unknown as Record<string, unknown>[], columns));
  if (found.skipped.length > 0)
    print(`\nSkipped:\n${tableOf(found.skipped as unknown as Record<string, unknown>[], ["line", "text", "reason"])}`);
  const past = found.created_count === 1 ? "was" : "were";
  const verb = found.dry_run ? "would be" : past;
  printNote(`${counted(found.created_count, "record")} ${verb} created, ${found.skipped_count} skipped.`);
}

function addTail(program: Command): void {
  const command = groupOf(program, ["audit"])
    .command("tail")
    .description("Print the changes of the account as they happen");
  command.option("-n, --lines <number>", "the number of earlier changes to print first; by default 10", "10");
  command.option("--interval <seconds>", "the seconds between requests for new changes; by default 5", "5");
  addGlobalOptions(command).addHelpText("after", "\nExample:\n  hosted-mail audit tail --jsonl");
  command.action(async () => {
    const options = command.optsWithGlobals<GlobalOptions & { lines: string; interval: string }>();
    const [lines, seconds] = [Number(options.lines), Number(options.interval)];
    if (!(Number.isInteger(lines) && lines >= 0 && lines <= 100))
      throw new Failure("--lines must be a whole number from 0 to 100.");
    if (!(seconds > 0 && seconds <= 86_400))
      throw new Failure("--interval must be a number of seconds above 0 and at most 86400.");
    const client = clientFor(options);
    const account_id = await accountFor(options, client);
    await tailAudit(client, { account_id, lines, intervalMs: seconds * 1000, form: formOf(options) });
  });
}

function addCompletion(program: Command): void {
  const command = program.command("completion").addArgument(new Argument("<shell>", "the shell").choices(shells));
  command.description("Print the script that completes commands in a shell");
  command.addHelpText(
    "after",
    '\nExamples:\n  eval "$(hosted-mail completion bash)"\n  hosted-mail completion fish | source',
  );
  command.action((shell: Shell) => print(completionScript(shell)));
  const completing = program.command("__complete", { hidden: true }).argument("[words...]").allowUnknownOption();
  completing.action((words: string[]) => print(completionsOf(program, words).join("\n")));
}

/** Adds `help`, which shows the help of the command under some words, such as `help domains list`. */
function addHelp(program: Command): void {
  const command = program.command("help").argument("[words...]", "the words of a command, such as: domains list");
  command.description("Show the help of a command");
  command.action((words: string[]) => {
    let at = program;
    for (const word of words) {
      const found = at.commands.find((one) => one.name() === word || one.aliases().includes(word));
      if (!found) throw new Failure(`unknown command '${word}'. Add --help for help.`);
      at = found;
    }
    at.outputHelp();
  });
}

/**
 * A hint for a person who gives `--page` or `--page-size`. The API has these two parameters, but the list commands do
 * not have these two options. Empty for any other error.
 */
const pageHint = (line: string): string =>
  /unknown option '--page(?:-size)?'/.test(line)
    ? " A list command reads all pages. --limit sets the greatest number of items."
    : "";

/** The description of an option, with the choices of the option if there are at most 15. */
const descriptionOf = ({ description, argChoices = [] }: Option): string =>
  argChoices.length === 0 || argChoices.length > 15 ? description : `${description} One of: ${argChoices.join(", ")}.`;

/** The whole command line. */
export function createProgram(version: string): Command {
  const program = new Command("hosted-mail").description(introduction).version(version).exitOverride();
  // A command inherits these settings only if it is created after them.
  program.configureHelp({ optionDescription: descriptionOf }).addHelpText("after", examples);
  program.configureOutput({
    outputError: (text, write) => {
      const line = text
        .replace(/^error: /, "")
        .replaceAll(/\s+/g, " ")
        .trim()
        .replace(/\.?$/, ".");
      write(`hosted-mail: ${line}${pageHint(line)} Add --help for help.\n`);
    },
  });
  addGlobalOptions(program);
  addHelp(program);
  addAccess(program);
  for (const spec of commandSpecs) {
    if (spec.name !== "dns_records.import") addFunction(groupOf(program, spec.name.split(".").slice(0, -1)), spec);
  }
  addMailboxImport(program);
  addZoneImport(program);
  addTail(program);
  addCompletion(program);
  return program;
}
