import { randomInt } from "node:crypto";
import { connect } from "node:net";

import type { Endpoint } from "../core/endpoint.ts";
import { encodeQuery, rcode, readMessage, type OddRecord, type WireRecord } from "./message.ts";
import { framed } from "./transport.ts";
import { isWithin } from "./wire-name.ts";

export type TransferLimits = { timeoutMs: number; maxBytes: number; maxRecords: number };

/** The records of a zone. `odd` are the records whose names cannot be in `records` (`OddRecord`). */
export type ZoneTransfer = { records: readonly WireRecord[]; odd: readonly OddRecord[] };

/** The records that a transfer has brought so far. `isWhole` says whether the transfer is complete. */
type Transferred = { records: WireRecord[]; odd: OddRecord[]; isWhole: boolean };

/**
 * Adds the records of a message (RFC 5936 §2.2). The first and the last record of a transfer are the zone's SOA.
 * Returns false for a message that does not belong to the transfer, or that refuses the transfer.
 */
function addMessage(bytes: Buffer, { id, zone }: { id: number; zone: string }, transferred: Transferred): boolean {
  const message = readMessage(bytes);
  if (message?.id !== id || !message.isResponse || message.rcode !== rcode.noError) return false;
  const { records, odd } = transferred;
  odd.push(...message.oddAnswers.filter(({ name }) => isWithin(name, zone)));
  for (const record of message.answers) {
    const isSoa = record.type === "SOA" && record.name === zone;
    if (records.length === 0 && !isSoa) return false;
    if (isSoa && records.length > 0) {
      transferred.isWhole = true;
      return true;
    }
    if (isWithin(record.name, zone)) records.push(record);
  }
  return records.length > 0;
}

/**
 * Transfers a zone from one server, by TCP (AXFR, RFC 5936). The name must come from `wireName`. Undefined if the
 * server does not answer, refuses, or the zone does not arrive whole within the limits.
 */
export function transferZone(
  { address, port }: Endpoint,
  zone: string,
  { timeoutMs, maxBytes, maxRecords }: TransferLimits,
): Promise<ZoneTransfer | undefined> {
  return new Promise((settle) => {
    const id = randomInt(0x10000);
    const transferred: Transferred = { records: [], odd: [], isWhole: false };
    const socket = connect({ host: address, port });
    let received = Buffer.alloc(0);
    let total = 0;
    const end = (): void => {
      clearTimeout(timer);
      socket.destroy();
      const { records, odd, isWhole } = transferred;
      settle(isWhole ? { records, odd } : undefined);
    };
    const timer = setTimeout(end, timeoutMs);
    socket.on("error", end);
    socket.on("close", end);
    socket.on("data", (chunk) => {
      total += chunk.length;
      received = Buffer.concat([received, chunk]);
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const length = 2 + received.readUInt16BE(0);
        const isGood = addMessage(received.subarray(2, length), { id, zone }, transferred);
        received = received.subarray(length);
        if (!isGood || transferred.isWhole) return end();
      }
      if (total > maxBytes || transferred.records.length + transferred.odd.length > maxRecords) end();
    });
    socket.write(framed(encodeQuery({ id, name: zone, type: "AXFR", hasEdns: false })));
  });
}
