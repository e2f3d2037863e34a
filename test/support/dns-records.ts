import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";

import { decode, encode, type DecodedPacket } from "dns-packet";

import type { RecordType } from "../../shared/dns/rrset.ts";
import type { DnsRecord } from "../../shared/domains/records/stored-record.ts";
import { request, type Answer } from "./request.ts";
import type { Account } from "./world.ts";

/** The members of a new record. */
export const www = { name: "www", type: "A", value: "192.0.2.1" };

type Sender = { token?: string; headers?: Record<string, string> };

/** Sends a request about the account's DNS records, for its owner if no other user is given. */
export const recordsRequest = (
  { id, owner }: Account,
  method: string,
  rest = "",
  body?: unknown,
  { token = owner.token, headers = {} }: Sender = {},
): Promise<Answer> => request(method, `/v1/public/accounts/${id}/dns-records${rest}`, { token, body, headers });

/** Adds a record. Throws the answer unless the record was added. */
export async function addedRecord(account: Account, body: object): Promise<DnsRecord> {
  const answer = await recordsRequest(account, "POST", "", body);
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body as DnsRecord;
}

/** The customer's records of a domain. */
export async function ownRecords(account: Account, domain: string): Promise<DnsRecord[]> {
  const { body } = await recordsRequest(account, "GET", `?domain=${domain}&page_size=100`);
  return (body.items as DnsRecord[]).filter(({ is_system_managed }) => !is_system_managed);
}

const port = (): number => Number(process.env["TEST_DNS_PORT"]);

/**
 * The answers of the nameserver of all accounts, sorted, in the form of Node. The strings of a text are joined. Empty
 * if there is no answer. Asks by TCP if an answer is too long for UDP.
 */
export async function served(name: string, type: RecordType): Promise<unknown[]> {
  const resolver = new Resolver({ timeout: 3_000, tries: 2 });
  resolver.setServers([`127.0.0.1:${port()}`]);
  try {
    const found = (await resolver.resolve(name, type)) as unknown[];
    // Node returns the bytes of a text as Latin-1.
    const whole = found.map((one) => (Array.isArray(one) ? Buffer.from(one.join(""), "latin1").toString() : one));
    return whole.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  } catch (error) {
    const code = (error as { code?: string }).code ?? "";
    if (["ENODATA", "ENOTFOUND", "EREFUSED"].includes(code)) return [];
    throw error;
  }
}

/** The reply of the nameserver to a query by UDP. */
export async function replyTo(name: string, type: string): Promise<DecodedPacket> {
  const socket = createSocket("udp4");
  try {
    socket.send(encode({ type: "query", id: 7, questions: [{ name, type: type as "A" }] }), port(), "127.0.0.1");
    const [message] = (await once(socket, "message", { signal: AbortSignal.timeout(3_000) })) as [Buffer];
    return decode(message);
  } finally {
    socket.close();
  }
}
