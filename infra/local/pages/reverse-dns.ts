import { isIP } from "node:net";

import * as z from "zod";

import { canonicalAddress } from "../../../shared/dns/reverse.ts";
import { readHostName } from "../../../shared/domains/records/names.ts";
import type { Table } from "../../../shared/table/table.ts";
import { type ReverseChange, type ReverseDns, readReverseDns, setReverseDns } from "../dns/reverse.ts";
import { type Answer, jsonAnswer } from "../server/http-message.ts";
import type { LocalPath, LocalRequest } from "../server/respond.ts";
import { formAnswer } from "./registry.ts";

type Options = { table: Table; onChanged: () => void };

const IpAddress = z
  .string()
  .trim()
  .refine((text) => isIP(text) !== 0 && !text.includes("%"), { error: "Write an IP address" })
  .transform(canonicalAddress);

const HostName = z.string().transform((text, context) => {
  if (text.trim() === "") return null;
  const read = readHostName(text, { zone: "example.com", underscores: true });
  if ("value" in read) return read.value;
  context.addIssue({ code: "custom", message: read.fault });
  return z.NEVER;
});

const Change = z.strictObject({
  ip: IpAddress,
  /** Empty or null removes the name. */
  rdns: HostName.nullable(),
  /** Whether the name resolves to the address. */
  forward: z.boolean().default(false),
  /** The text at `_setup.<rdns>`. Empty or null removes the text. */
  txt: z
    .string()
    .max(1_000)
    .transform((text) => (text === "" ? null : text))
    .nullish(),
});

/** Reads the fields of a form. If the field for the text is empty, the text stays unchanged. */
function fieldsOf(form: URLSearchParams): unknown {
  const txt = form.get("txt") ?? "";
  return {
    ip: form.get("ip") ?? "",
    rdns: form.get("rdns") ?? "",
    forward: form.has("forward"),
    ...(txt === "" ? {} : { txt }),
  };
}

function sentenceOf({ ip, rdns, forward }: ReverseDns): string {
  if (rdns === null) return `${ip} has no name.`;
  return `The name of ${ip} is ${rdns}${forward ? `, and ${rdns} resolves to ${ip}` : ""}.`;
}

async function performChange(change: ReverseChange, { table, onChanged }: Options): Promise<ReverseDns> {
  await setReverseDns(table, change);
  onChanged();
  return readReverseDns(table, change.ip);
}

/**
 * `/_local/registry/reverse`: the reverse DNS of addresses.
 * - GET with `?ip=`: the name of an address, as JSON.
 * - POST: sets the name of an address, from a form or JSON such as `{"ip": "…", "rdns": "…"}`. `"forward": true` makes
 *   the name resolve to the address. `txt` sets the text at `_setup.<rdns>`. A null `rdns` removes the name.
 */
export function reversePaths(options: Options): LocalPath[] {
  const show = async ({ query }: LocalRequest): Promise<Answer> => {
    const { success, data, error } = IpAddress.safeParse(query.get("ip") ?? "");
    if (!success) return jsonAnswer(422, { message: z.prettifyError(error) });
    return jsonAnswer(200, await readReverseDns(options.table, data));
  };
  const change = (request: LocalRequest): Promise<Answer> =>
    formAnswer(request, Change, fieldsOf, async (given) => {
      const state = await performChange(given, options);
      return { message: sentenceOf(state), more: state };
    });
  return [
    { method: "GET", path: "/_local/registry/reverse", handle: show },
    { method: "POST", path: "/_local/registry/reverse", handle: change },
  ];
}
