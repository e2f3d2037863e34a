import { randomInt } from "node:crypto";

import type { Endpoint } from "../core/endpoint.ts";
import type { Budget } from "./budget.ts";
import { type Message, encodeQuery, rcode } from "./message.ts";
import { type Query, askByTcp, askByUdp } from "./transport.ts";
import { wireName } from "./wire-name.ts";

/** What is asked, of class IN. The name is one that `wireName` gave. */
export type Question = { name: string; type: string };

type Limits = { budget: Budget; tryTimeoutMs: number };

/** Servers that know only part of the protocol leave the question out when they complain (RFC 6891 §7). */
const isBareComplaint = ({ questions, rcode: code }: Message): boolean =>
  questions.length === 0 && code !== rcode.noError && code !== rcode.nxDomain;

function repeats({ questions }: Message, { name, type }: Question): boolean {
  const [asked] = questions;
  if (!asked || questions.length > 1) return false;
  return asked.type === type && asked.class === "IN" && wireName(asked.name) === name;
}

function queryOf(question: Question, hasEdns: boolean): Query {
  const id = randomInt(0x10000);
  return {
    bytes: encodeQuery({ id, ...question, hasEdns }),
    isAnswer: (message) =>
      message.id === id &&
      message.isResponse &&
      message.opcode === 0 &&
      (repeats(message, question) || isBareComplaint(message)),
  };
}

/**
 * Asks one server: by UDP with EDNS, without EDNS if it does not know that, by TCP if the answer was cut off
 * (RFC 7766 §5). Undefined when it did not answer, or the budget ended. Every message sent is taken out of the budget.
 */
export async function ask(endpoint: Endpoint, question: Question, limits: Limits): Promise<Message | undefined> {
  const { budget, tryTimeoutMs } = limits;
  const send = async (by: typeof askByUdp, hasEdns: boolean): Promise<Message | undefined> => {
    if (!budget.take()) return undefined;
    return by(endpoint, queryOf(question, hasEdns), Math.min(tryTimeoutMs, budget.remainingMs()));
  };
  const first = await send(askByUdp, true);
  const isWithoutEdns = first?.rcode === rcode.formErr || first?.rcode === rcode.badVers;
  const answer = isWithoutEdns ? await send(askByUdp, false) : first;
  return answer?.isTruncated ? send(askByTcp, !isWithoutEdns) : answer;
}
