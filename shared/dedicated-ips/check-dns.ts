import type { Resolver } from "../dns/answer.ts";
import { openBudget } from "../dns/budget.ts";
import { forwardConfirmed } from "../dns/reverse.ts";
import { isProof, type StoredIpAddress, type StoredIp } from "./dedicated-ip.ts";
import { setupName } from "./view.ts";

/**
 * The DNS findings for one address.
 * - `wanting`: something is missing or wrong.
 * - `unknown`: the DNS gave no answer, so nothing is concluded.
 * - `texts`: all texts at `_setup` of the address's name. Each may be the proof of another host.
 */
type AddressCheck = {
  status: "well" | "wanting" | "unknown";
  rdns: string | null;
  isConfirmed: boolean;
  message: string;
  texts?: readonly string[];
};

/** The DNS findings for a dedicated IP, its addresses with their findings, and the texts found for each address. */
export type DnsCheck = {
  status: AddressCheck["status"];
  message: string;
  addresses: StoredIpAddress[];
  texts: ReadonlyMap<string, readonly string[]>;
};

const longestMs = 4_500;
/**
 * The owner of an address chooses which servers we ask, so questions are limited: enough for the names and texts of 16
 * addresses, and some more.
 */
const mostQuestions = 64;
const mostMessages = 320;

type Asking = Pick<Resolver, "resolve">;

/** A resolver for one check that keeps to `mostQuestions` and `mostMessages`. */
function limited(resolver: Resolver): Asking {
  const budget = openBudget(longestMs, mostMessages);
  let left = mostQuestions;
  return {
    resolve: async (name, type) => {
      if (left === 0) return { status: "unknown", reason: "it takes too many DNS queries" };
      left -= 1;
      return resolver.resolve(name, type, budget);
    },
  };
}

const tooSlow: AddressCheck = {
  status: "unknown",
  rdns: null,
  isConfirmed: false,
  message: "The check could not be completed: the DNS does not answer in time. Try again later.",
};

/** The findings, or `tooSlow` when the time is up first. */
async function inTime(seen: Promise<AddressCheck>): Promise<AddressCheck> {
  const { promise, resolve } = Promise.withResolvers<AddressCheck>();
  const timer = setTimeout(() => resolve(tooSlow), longestMs);
  try {
    return await Promise.race([seen, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Checks that the name of an address leads back to the address, and that it is `wanted`, if there is one. */
async function checkName(resolver: Asking, ip: string, wanted: string | undefined): Promise<AddressCheck> {
  const { status, rdns, message } = await forwardConfirmed(resolver, ip);
  if (status === "unknown") return { status, rdns, isConfirmed: false, message };
  if (status === "unconfirmed") return { status: "wanting", rdns, isConfirmed: false, message };
  if (wanted === undefined || rdns === wanted) return { status: "well", rdns, isConfirmed: true, message };
  return {
    status: "wanting",
    rdns,
    isConfirmed: true,
    message: `The reverse DNS of ${ip} is ${rdns}. It must be ${wanted}.`,
  };
}

/** Checks that a host publishes the hash of its setup key at the name of its address. */
async function checkProof(resolver: Asking, ip: string, hash: string): Promise<AddressCheck> {
  const seen = await checkName(resolver, ip, undefined);
  if (seen.status !== "well" || seen.rdns === null) return seen;
  const name = setupName(seen.rdns);
  const answer = await resolver.resolve(name, "TXT");
  if (answer.status === "unknown") {
    const message = `The check could not be completed: ${answer.reason}. Try again later.`;
    return { ...seen, status: "unknown", message };
  }
  const records = answer.status === "found" ? answer.records : [];
  const texts = records.flatMap((record) => (record.type === "TXT" ? [record.text] : []));
  const isProved = texts.some((text) => isProof(text, hash));
  if (isProved) return { ...seen, texts, message: `${seen.message} The host publishes the hash of its setup key.` };
  const what = texts.length === 0 ? `There is no TXT record at ${name}` : `The TXT record at ${name} has another value`;
  return { ...seen, status: "wanting", message: `${what}. Publish the setup record there.` };
}

/**
 * Asks the DNS about all addresses of a dedicated IP at the same time, for 4.5 seconds at most.
 * - It checks the reverse DNS, and whether a host with a setup key publishes its hash.
 * - It limits questions and messages; anything beyond is `unknown`.
 * - It never throws because of what the DNS answers.
 */
export async function checkDns(ip: StoredIp, resolver: Resolver): Promise<DnsCheck> {
  const { type, rdns, key_hash } = ip;
  const asking = limited(resolver);
  const seen = await Promise.all(
    ip.addresses.map((address) =>
      inTime(
        type === "managed" || key_hash === undefined
          ? checkName(asking, address.ip, type === "managed" ? rdns : undefined)
          : checkProof(asking, address.ip, key_hash),
      ),
    ),
  );
  const of = (status: AddressCheck["status"]) => seen.filter((one) => one.status === status);
  const [wanting, unknown] = [of("wanting"), of("unknown")];
  const first = [...wanting, ...unknown, ...seen][0];
  return {
    status: wanting.length > 0 ? "wanting" : unknown.length > 0 ? "unknown" : "well",
    message: first?.message ?? "",
    addresses: ip.addresses.map((address, index) => withResult(address, seen[index])),
    texts: new Map(ip.addresses.map((address, index) => [address.ip, seen[index]?.texts ?? []])),
  };
}

/** An address with the result of a check. If the result is `unknown`, the address keeps its earlier result. */
function withResult(address: StoredIpAddress, seen: AddressCheck | undefined): StoredIpAddress {
  if (!seen) return address;
  if (seen.status === "unknown") return { ...address, rdns: seen.rdns ?? address.rdns, message: seen.message };
  return {
    ip: address.ip,
    rdns: seen.rdns,
    fcrdns_confirmed: seen.isConfirmed,
    healthy: seen.status === "well",
    message: seen.message,
  };
}
