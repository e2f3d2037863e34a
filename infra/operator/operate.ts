import { parseArgs } from "node:util";

import * as z from "zod";

import { Problem } from "../../shared/core/errors.ts";
import { billingCommands } from "./billing-commands.ts";
import { type Command, commands as accountCommands, Misuse } from "./commands.ts";
import { connect } from "./connect.ts";
import { diagnoseCommands } from "./diagnose-command.ts";
import { doctor } from "./doctor.ts";
import { eventCommands } from "./event-commands.ts";
import { feedbackCommands } from "./feedback-commands.ts";
import { ipCommands } from "./ip-commands.ts";
import { limitCommands } from "./limit-commands.ts";
import { mailCommands } from "./mail-commands.ts";
import { migrationCommands } from "./migration-commands.ts";
import { personCommands } from "./person-commands.ts";
import { restoreCommands } from "./restore-commands.ts";
import { zoneCommands } from "./zone-commands.ts";

const commands: Record<string, Command> = {
  ...accountCommands,
  ...diagnoseCommands,
  ...limitCommands,
  ...billingCommands,
  ...feedbackCommands,
  ...ipCommands,
  ...eventCommands,
  ...mailCommands,
  ...migrationCommands,
  ...restoreCommands,
  ...personCommands,
  ...zoneCommands,
};

const usageText = `Usage: npm run operator -- <command> [options]

${Object.entries(commands)
  .map(([name, { summary, options }]) =>
    [
      `  ${name.padEnd(20)} ${summary}`,
      ...Object.entries(options).map(([key, { description }]) => `    --${key.padEnd(16)} ${description}`),
    ].join("\n"),
  )
  .join("\n")}

  doctor               Lists the features of a stage, and checks each service that the stage needs. Changes nothing.
    --stage            The name of the stage's file in infra/stages.

With every other command:
    --table NAME    A deployed table (or TABLE_NAME), which needs AWS credentials. By default the local table in DATA_DIR.
    --stage NAME    The stage of the deployed table: its file in infra/stages. Commands that use the prices, the VAT or
                    the features of the stage need it.
    --json          Prints the answer as one line of JSON.
    --help          Shows this text.

Exit codes: 0 done, 1 refused or failed, 2 the command line is not valid.
`;

type Parsed = {
  command: Command;
  options: Record<string, string>;
  tableName: string | undefined;
  stage: string | undefined;
  json: boolean;
};

const optionOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

function parseCommand(argv: readonly string[]): Parsed | "help" {
  const { values, positionals } = parseLeniently(argv);
  if (values["help"] === true || positionals[0] === "help") return "help";
  const { command, argument } = findCommand(positionals);
  const tableName = optionOf(values["table"] ?? process.env["TABLE_NAME"]);
  const stage = optionOf(values["stage"]);
  const options = checkedOptions(command, { ...argument, ...values });
  if (stage !== undefined && tableName === undefined) throw new Misuse("--stage needs --table");
  if (stage === undefined && tableName !== undefined && command.needsStage?.(options))
    throw new Misuse(
      "--stage is missing. This command uses the prices, the VAT and the features in the file of the table's stage.",
    );
  return {
    command,
    options,
    tableName,
    stage,
    json: values["json"] === true,
  };
}

const commandNamed = (name: string): Command | undefined =>
  Object.hasOwn(commands, name) ? commands[name] : undefined;

/** Finds the command that some words name. The last word can be the value of the option `argument` of the command. */
function findCommand(words: readonly string[]): { command: Command; argument?: Record<string, string> } {
  const whole = commandNamed(words.join(" "));
  if (whole) return { command: whole };
  const command = commandNamed(words.slice(0, -1).join(" "));
  const [value] = words.slice(-1);
  if (command?.argument !== undefined && value !== undefined) {
    return { command, argument: { [command.argument]: value } };
  }
  throw new Misuse(words.length === 0 ? "Name a command." : `There is no command "${words.join(" ")}".`);
}

/**
 * Reads a command line, with the options of any command. `checkedOptions` then refuses the options that the named
 * command does not have. A switch that is set has the value `true`.
 */
function parseLeniently(argv: readonly string[]): { values: Record<string, unknown>; positionals: string[] } {
  const all = Object.values(commands).flatMap(({ options }) => Object.entries(options));
  const types = Object.fromEntries(
    all.map(([name, { isSwitch }]) => [name, { type: isSwitch ? ("boolean" as const) : ("string" as const) }]),
  );
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        ...types,
        table: { type: "string" },
        stage: { type: "string" },
        json: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : String(error));
  }
}

function checkedOptions({ options }: Command, values: Record<string, unknown>): Record<string, string> {
  const schema = z.strictObject(
    Object.fromEntries(Object.entries(options).map(([name, { schema: type }]) => [name, type])),
  );
  const commandValues = Object.entries(values)
    .filter(([name]) => !["table", "stage", "json", "help"].includes(name))
    .map(([name, value]) => [name, value === true ? "true" : value]);
  const result = schema.safeParse(Object.fromEntries(commandValues), { reportInput: true });
  if (result.success) {
    return Object.fromEntries(
      Object.entries(result.data).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    );
  }
  throw new Misuse(result.error.issues.map(complaintAbout).join("\n"));
}

function complaintAbout(issue: z.core.$ZodIssue): string {
  if (issue.code === "unrecognized_keys") return `--${issue.keys.join(", --")} is not an option of this command`;
  const option = `--${issue.path.join(".")}`;
  if (issue.code === "invalid_type" && issue.input === undefined) return `${option} is missing`;
  return `${option}: ${issue.message}`;
}

const asText = (value: unknown): string =>
  typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);

/**
 * Escapes control characters in the same way as JSON. Without this escaping, customers' texts could control the
 * terminal.
 */
const escapeControls = (text: string): string =>
  text.replaceAll(/(?![\n\t])\p{Cc}/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u${code.toString(16).padStart(4, "0")}`;
  });

/**
 * Writes an answer as lines of text. Each row of a list is one line. If the answer has several lists, a line with the
 * name and the number of rows comes before each list.
 */
function linesOf(answer: Record<string, unknown>): string[] {
  const lists = Object.values(answer).filter(Array.isArray);
  return Object.entries(answer).flatMap(([name, value]) => {
    if (!Array.isArray(value)) return [`${name.padEnd(12)} ${asText(value)}`];
    const rows = value.map((one) => JSON.stringify(one));
    return lists.length > 1 ? [`${name.padEnd(12)} ${rows.length}`, ...rows.map((row) => `  ${row}`)] : rows;
  });
}

async function runCommand({ command, options, tableName, stage, json }: Parsed): Promise<string> {
  const connection = await connect(tableName, stage);
  try {
    const answer = await command.run(connection.table, options, connection);
    const lines = (command.linesOf ?? linesOf)(answer);
    const text = json ? JSON.stringify(answer) : `${lines.join("\n")}\n(${connection.description})`;
    return `${escapeControls(text)}\n`;
  } finally {
    await connection.close();
  }
}

function complaintOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof Misuse)
    return `${error.message}\nnpm run operator -- --help shows the commands and their options.`;
  if (error instanceof Problem && error.code === "not_found") {
    return "This account, client, owner, feedback or dedicated IP does not exist.";
  }
  return (process.env["DEBUG"] === undefined ? undefined : error.stack) ?? error.message;
}

/** The result of a command: the exit code, and the texts for standard output and standard error. */
export type CommandResult = { code: number; out: string; err: string };

/**
 * The stage of the command `doctor`. Undefined for other commands, and for `--help`. `doctor` is separate, because it
 * uses no table.
 */
function stageToExamine(argv: readonly string[]): string | undefined {
  if (argv[0] !== "doctor") return undefined;
  const { stage, help } = parseLeniently(argv).values;
  if (help === true) return undefined;
  if (typeof stage !== "string") throw new Misuse("--stage is missing");
  return stage;
}

/** Runs a command line. The usage text describes the command lines. Never throws. */
export async function operate(argv: readonly string[]): Promise<CommandResult> {
  try {
    const stage = stageToExamine(argv);
    if (stage !== undefined) return await doctor(stage);
    const parsed = parseCommand(argv);
    return { code: 0, out: parsed === "help" ? usageText : await runCommand(parsed), err: "" };
  } catch (error) {
    return { code: error instanceof Misuse ? 2 : 1, out: "", err: `${complaintOf(error)}\n` };
  }
}

if (import.meta.main) {
  const { code, out, err } = await operate(process.argv.slice(2));
  process.stdout.write(out);
  process.stderr.write(err);
  process.exitCode = code;
}
