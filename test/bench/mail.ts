import { mapConcurrently } from "../../shared/core/concurrency.ts";
import { logsIn, newSource, sendsAs, whereTo } from "../support/mail-routes.ts";
import { added, at, home, send } from "../support/mailboxes.ts";
import { newRoomyAccount } from "../support/roomy.ts";
import { inTurns, median, quantile, timed, type Options, type Result } from "./harness.ts";

const concurrency = 16;
/**
 * The number of mailboxes. Each round asks once about each of them. So no address reaches the rate limit of its logins.
 */
const people = 100;

/** The bars: the least requests a second, and the largest p99 in seconds. */
const leastOf: Record<string, object> = {
  "mail logins, right password": { atLeast: 300 },
  "recipient look-ups": { atLeast: 800 },
};
const mostOf: Record<string, object> = { "mail logins, right password": { bar: 0.1 } };

/**
 * A mailbox with its password, and the network of its owner's logins. `address` is an address that a mail server looks
 * up, and `kind` is the expected answer.
 */
type Person = { email: string; password: string; source: string; address: string; kind: string };

/**
 * Measures logins and look-ups per second. 16 requests run at a time, in the functions behind the mail servers' routes.
 */
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
    "mail logins, right password": load(({ email, password, source }) => logsIn(email, password, "smtp", source)),
    "mail logins, wrong password": load(async ({ email }) => !(await logsIn(email, "wrong"))),
    "sender look-ups": load(async ({ email }) => (await sendsAs(email, email)) === "allowed"),
    "recipient look-ups": load(async ({ address, kind }) => (await whereTo(encodeURIComponent(address))).kind === kind),
  };
  await inTurns(1, variants);
  const samples = await inTurns(quick ? 3 : 15, variants);
  const figures = Object.entries(samples).flatMap(([name, rounds]) => {
    const [rates, times] = [rounds.map(({ perSecond }) => perSecond), rounds.flatMap(({ times }) => times)];
    return [
      { name: `${name}, ${concurrency} at a time`, value: median(rates), unit: "a second", ...leastOf[name] },
      { name: `${name}: p99`, value: quantile(times, 0.99) / 1000, unit: "s", ...mostOf[name] },
    ];
  });
  return { figures };
}

/**
 * Makes mailboxes of one domain. Their look-ups are of four kinds, a quarter each: a mailbox, an alias, an unknown
 * address, an unknown domain.
 */
async function newPersons(): Promise<Person[]> {
  const account = await newRoomyAccount();
  const { name } = await home(account);
  const persons: Person[] = [];
  for (let index = 0; index < people; index++) {
    const { id, primary_email: email } = await added(account, name, `person-${index}`);
    const { password } = (await send(account, "POST", at(id, "/reveal-credentials"))).body;
    // The second kind looks up the alias that the person before got.
    const looked = [
      { address: email, kind: "mailbox" },
      { address: `alias-${index - 1}@${name}`, kind: "alias" },
      { address: `nobody-${index}@${name}`, kind: "none" },
      { address: "nobody@example.org", kind: "unknown" },
    ][index % 4];
    if (index % 4 === 0) await send(account, "POST", at(id, "/aliases"), { alias: `alias-${index}` });
    persons.push({ email, password, source: newSource(), address: "", kind: "", ...looked });
  }
  return persons;
}
