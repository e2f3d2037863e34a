import type { Resolver } from "../dns/answer.ts";
import { openBudget } from "../dns/budget.ts";
import { forwardConfirmed } from "../dns/reverse.ts";
import { isProof, type StoredIpAddress, type StoredIp } from "./dedicated-ip.ts";
import { setupName } from "./view.ts";

/**
 * The result of checking one address. The status is `failed` if something is missing or wrong. It is `unknown` if the
 * check could not be completed, for example because the DNS gave no answer. `texts` are all texts at `_setup` below the
 * address's reverse name. They may contain the proofs of several hosts. `texts` is present only if the proof of the
 * checked host is among them.
 */
type AddressCheck = {
  status: "passed" | "failed" | "unknown";
  rdns: string | null;
  isConfirmed: boolean;
  message: string;
  texts?: readonly string[];
};

/**
 * The result of checking a dedicated IP: the status and the message of the check, the result for each address, and the
 * `texts` of each address.
 */
export type DnsCheck = {
  status: AddressCheck["status"];
  message: string;
  addresses: StoredIpAddress[];
  texts: ReadonlyMap<string, readonly string[]>;
};

const timeoutMs = 4_500;
/**
 * How many questions one check may ask. The owner of an address chooses which servers we ask, so questions are limited.
 * Sixteen addresses with one name each need 48 questions. Each address needs three: for its name, for the address of
 * this name, and for the text at `_setup`.
 */
const maxQuestions = 64;
/** How many DNS messages one check may send. */
const maxMessages = 320;

type LimitedResolver = Pick<Resolver, "resolve">;

/** A resolver for one check, with limited questions and messages. */
function limitResolver(resolver: Resolver): LimitedResolver {
  const budget = openBudget(timeoutMs, maxMessages);
  let remaining = maxQuestions;
  return {
    resolve: async (name, type) => {
      if (remaining === 0) return { status: "unknown", reason: "it takes too many DNS queries" };
      remaining -= 1;
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

/** The result of a check, or `tooSlow` if the check takes longer than `timeoutMs`. */
async function inTime(check: Promise<AddressCheck>): Promise<AddressCheck> {
  const { promise, resolve } = Promise.withResolvers<AddressCheck>();
  const timer = setTimeout(() => resolve(tooSlow), timeoutMs);
  try {
    return await Promise.race([check, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Checks that the reverse name of an address leads back to the address, and that the name is `expected`. If `expected`
 * is undefined, any name passes.
 */
async function checkName(resolver: LimitedResolver, ip: string, expected: string | undefined): Promise<AddressCheck> {
  const { status, rdns, message } = await forwardConfirmed(resolver, ip);
  if (status === "unknown") return { status, rdns, isConfirmed: false, message };
  if (status === "unconfirmed") return { status: "failed", rdns, isConfirmed: false, message };
  if (expected === undefined || rdns === expected) return { status: "passed", rdns, isConfirmed: true, message };
  return {
    status: "failed",
    rdns,
    isConfirmed: true,
    message: `The reverse DNS of ${ip} is ${rdns}. It must be ${expected}.`,
  };
}

/**
 * Checks the reverse name of an address, and that the host publishes the hash of its setup key at `_setup` below this
 * name. An address that was proved under another name fails.
 */
async function checkProof(
  resolver: LimitedResolver,
  { ip, proved_name }: StoredIpAddress,
  hash: string,
): Promise<AddressCheck> {
  const nameCheck = await checkName(resolver, ip, undefined);
  if (nameCheck.status !== "passed" || nameCheck.rdns === null) return nameCheck;
  if (proved_name !== undefined && nameCheck.rdns !== proved_name) {
    const message = `The reverse DNS of ${ip} is ${nameCheck.rdns}, but the host proved the address as ${proved_name}. Restore this name, or authorize the host with \`reissue\`.`;
    return { ...nameCheck, status: "failed", message };
  }
  const name = setupName(nameCheck.rdns);
  const answer = await resolver.resolve(name, "TXT");
  if (answer.status === "unknown") {
    const message = `The check could not be completed: ${answer.reason}. Try again later.`;
    return { ...nameCheck, status: "unknown", message };
  }
  const records = answer.status === "found" ? answer.records : [];
  const texts = records.flatMap((record) => (record.type === "TXT" ? [record.text] : []));
  const isProved = texts.some((text) => isProof(text, hash));
  if (isProved)
    return { ...nameCheck, texts, message: `${nameCheck.message} The host publishes the hash of its setup key.` };
  const problem =
    texts.length === 0 ? `There is no TXT record at ${name}` : `The TXT record at ${name} has another value`;
  return { ...nameCheck, status: "failed", message: `${problem}. Publish the setup record there.` };
}

/**
 * Checks all addresses of a dedicated IP in the DNS at the same time, for 4.5 seconds at most.
 * - Checks the reverse DNS, and whether a host with a setup key publishes the hash of its key.
 * - The numbers of questions and messages are limited. An address for which too few are left is `unknown`.
 * - Never throws because of an answer of the DNS.
 */
export async function checkDns(ip: StoredIp, resolver: Resolver): Promise<DnsCheck> {
  const { type, rdns, key_hash } = ip;
  const limited = limitResolver(resolver);
  const checks = await Promise.all(
    ip.addresses.map((address) =>
      inTime(
        type === "managed" || key_hash === undefined
          ? checkName(limited, address.ip, type === "managed" ? rdns : undefined)
          : checkProof(limited, address, key_hash),
      ),
    ),
  );
  const failed = checks.filter(({ status }) => status === "failed");
  const unknown = checks.filter(({ status }) => status === "unknown");
  // A failed address decides the result, or else an unknown address, or else the first address.
  const decisive = [...failed, ...unknown, ...checks][0];
  return {
    status: decisive?.status ?? "passed",
    message: decisive?.message ?? "",
    addresses: ip.addresses.map((address, index) => withResult(address, checks[index])),
    texts: new Map(ip.addresses.map((address, index) => [address.ip, checks[index]?.texts ?? []])),
  };
}

/** An address with the result of a check. If the result is `unknown`, the address stays as healthy as it was. */
function withResult(address: StoredIpAddress, check: AddressCheck | undefined): StoredIpAddress {
  if (!check) return address;
  if (check.status === "unknown") return { ...address, rdns: check.rdns ?? address.rdns, message: check.message };
  return {
    ...address,
    rdns: check.rdns,
    fcrdns_confirmed: check.isConfirmed,
    healthy: check.status === "passed",
    message: check.message,
  };
}
