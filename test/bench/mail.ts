import { mapConcurrently } from "../../shared/core/concurrency.ts";
import { logsIn, whereTo } from "../support/mail-door.ts";
import { added, at, home, send } from "../support/mailboxes.ts";
import { newRoomyAccount } from "../support/roomy.ts";
import { inTurns, median, quantile, timed, type Options, type Result } from "./harness.ts";

const concurrency = 16;
/** Each round asks once about each of them: so few times in all that no address reaches the rate limit of its logins. */
const people = 100;

/** A mailbox with its password, and what a mail server looks up: an address and the kind of answer. */
type Person = { email: string; password: string; address: string; kind: string };

/** Logins and look-ups of recipients a second, by the functions that the mail servers call, 16 at a time. */
export async function run({ quick }: Options): Promise<Result> {
  const persons = await newPersons();
  const load = (isAnswered: (person: Person) => Promise<boolean>) => async () => {
    const times: number[] = [];
    const ask = async (person: Person): Promise<void> => {
      const startedAt = performance.now();
      if (await isAnswered(person)) times.push(performance.now() - startedAt);
    };
    const ms = await timed(() => mapConcurrently(persons, concurrency, ask));
    if (times.length < people) throw new Error("an answer is wrong");
    return { perSecond: (1000 * people) / ms, times };
  };
  const variants = {
    right: load(({ email, password }) => logsIn(email, password)),
    wrong: load(async ({ email }) => !(await logsIn(email, "wrong"))),
    lookUps: load(async ({ address, kind }) => {
      const found: Record<string, unknown> = await whereTo(encodeURIComponent(address));
      return found["kind"] === kind;
    }),
  };
  await inTurns(1, variants);
  const { right, wrong, lookUps } = await inTurns(quick ? 3 : 15, variants);
  const rate = (rounds: typeof right) => ({
    value: median(rounds.map(({ perSecond }) => perSecond)),
    unit: "a second",
  });
  const p99 = (rounds: typeof right) => ({
    value:
      quantile(
        rounds.flatMap(({ times }) => times),
        0.99,
      ) / 1000,
    unit: "s",
  });
  return {
    figures: [
      { name: `mail logins, ${concurrency} at a time, right password`, ...rate(right), atLeast: 300 },
      { name: "mail logins, right password: p99", ...p99(right), bar: 0.1 },
      { name: `mail logins, ${concurrency} at a time, wrong password`, ...rate(wrong) },
      { name: "mail logins, wrong password: p99", ...p99(wrong) },
      { name: `recipient look-ups, ${concurrency} at a time`, ...rate(lookUps), atLeast: 800 },
      { name: "recipient look-ups: p99", ...p99(lookUps) },
    ],
  };
}

/** Mailboxes of one domain. A quarter of what is looked up is a mailbox, an alias, an unknown address, an unknown domain. */
async function newPersons(): Promise<Person[]> {
  const account = await newRoomyAccount();
  const { name } = await home(account);
  const persons: Person[] = [];
  for (let index = 0; index < people; index++) {
    const { id, primary_email: email } = await added(account, name, `person-${index}`);
    const { password } = (await send(account, "POST", at(id, "/reveal-credentials"))).body;
    const looked = [
      { address: email, kind: "mailbox" },
      { address: `alias-${index - 1}@${name}`, kind: "alias" },
      { address: `nobody-${index}@${name}`, kind: "none" },
      { address: "nobody@example.org", kind: "unknown" },
    ][index % 4];
    if (index % 4 === 0) await send(account, "POST", at(id, "/aliases"), { alias: `alias-${index}` });
    persons.push({ email, password, address: "", kind: "", ...looked });
  }
  return persons;
}
