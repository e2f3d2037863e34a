import { randomBytes } from "node:crypto";

import * as z from "zod";

import { nameserversOf } from "../../../shared/core/platform.ts";
import { escapeHtml } from "../../../shared/core/text.ts";
import { clock, Timestamp } from "../../../shared/core/time.ts";
import { readHolder } from "../../../shared/domains/holder.ts";
import { newRecord, parseRecord } from "../../../shared/domains/records/input.ts";
import type { ParsedRecord, RecordInput } from "../../../shared/domains/records/record.ts";
import { NewDomainName } from "../../../shared/domains/registrable.ts";
import { delegate, delegationOf, registerElsewhere } from "../../../shared/providers/registrar/embedded-names.ts";
import { embeddedRegistrar } from "../../../shared/providers/registrar/embedded.ts";
import type { Table } from "../../../shared/table/table.ts";
import { externalNameservers, publishRecords } from "../dns/external.ts";
import { type Answer, isJson, jsonAnswer } from "../server/http-message.ts";
import type { LocalPath, LocalRequest } from "../server/respond.ts";
import { foreignForm, formOrJson, isOwnForm } from "./forms.ts";
import { htmlAnswer } from "./html.ts";

const content = `
<h2>Domains</h2>
<p>This form acts for the registries of all top-level domains. Set the nameservers of a name that is
  registered elsewhere. A name that was bought through the product is delegated already.</p>
<form method="post" action="/_local/registry">
  <label>Name <input name="name" required placeholder="example.com" /></label>
  <label>Nameservers <input name="nameservers" placeholder="the account's nameservers" /></label>
  <button>Delegate</button>
</form>
<h2>Other registrars</h2>
<p>This form acts for all other registrars. Register a name at another registrar, with an auth code for its transfer
  to the product. With the auth code of a name that was bought through the product, this form transfers the name to
  another registrar.</p>
<form method="post" action="/_local/registry">
  <input type="hidden" name="elsewhere" value="true" />
  <label>Name <input name="name" required placeholder="example.com" /></label>
  <label>Auth code <input name="auth_code" placeholder="a random one" /></label>
  <label>Nameservers <input name="nameservers" placeholder="as they are" /></label>
  <label>Registered at <input name="registered_at" placeholder="long ago, or 2026-01-31T12:00:00Z" /></label>
  <label><input type="checkbox" name="locked" /> Locked against transfer</label>
  <button>Register</button>
</form>
<h2>Registrations</h2>
<p>Look up the nameservers of a name. For a name that was bought through the product, this also shows the phase, dates
  and statuses of its registration.</p>
<form action="/_local/registry">
  <label>Name <input name="name" required placeholder="example.com" /></label>
  <button>Look up</button>
</form>
<h2>Reverse DNS</h2>
<p>This form acts for the providers of all IP addresses, and for the hosts at these addresses. Set the PTR record of an
  address. An empty name removes the record. A name in a delegated domain resolves by the domain's own records.</p>
<form method="post" action="/_local/registry/reverse">
  <label>Address <input name="ip" required placeholder="45.12.0.7" /></label>
  <label>Name <input name="rdns" placeholder="mail.example.com" /></label>
  <label><input type="checkbox" name="forward" /> The name resolves to the address</label>
  <label>TXT record at _setup <input name="txt" placeholder="unchanged" /></label>
  <button>Set</button>
</form>`;

/** The values of a refused form, and the mistakes in its fields by their names. */
type RefusedForm = { values: URLSearchParams; faults: ReadonlyMap<unknown, string> };

/**
 * The forms of the page. The refused form has its values again, and shows each mistake beside its field.
 *
 * The refused form is the form that has all fields that were sent. The form for domains and the form for other
 * registrars have fields in common, but only the form for other registrars sends `elsewhere`. So `elsewhere` tells the
 * two apart.
 */
const formsAfter = ({ values, faults }: RefusedForm): string =>
  content.replaceAll(/<form method="post"[^]*?<\/form>/g, (form) => {
    const hasField = (name: string): boolean => form.includes(`name="${name}"`);
    const isRefused = [...values.keys()].every(hasField) && hasField("elsewhere") === values.has("elsewhere");
    if (!isRefused) return form;
    const field = /(<input (type="checkbox" )?name="(\w+)".*?) \/>(.*)/g;
    return form.replaceAll(field, (_, input: string, isCheckbox: string | undefined, name: string, rest: string) => {
      const value = values.get(name) ?? "";
      const attribute = isCheckbox ? " checked" : ` value="${escapeHtml(value)}"`;
      const given = value === "" ? "" : attribute;
      const fault = faults.get(name);
      if (fault === undefined) return `${input}${given} />${rest}`;
      const state = ` aria-invalid="true" aria-describedby="${name}-fault" autofocus`;
      return `${input}${given}${state} />${rest}<p class="fault" id="${name}-fault">${escapeHtml(fault)}</p>`;
    });
  });

/** The page of the registry. `message` is plain text. */
const registryPage = (status: number, message = "", refused?: RefusedForm): Answer =>
  htmlAnswer(
    status,
    "Registry",
    `${message === "" ? "" : `<div role="${status < 400 ? "status" : "alert"}"><p>${escapeHtml(message)}</p></div>`}
      ${refused ? formsAfter(refused) : content}`,
  );

/** The outcome of a form. `message` is for people. `more` has further members of the JSON answer. */
type FormOutcome = { status?: number; message: string; more?: object };

/**
 * Passes the input to `act`, and answers with its result. Answers a form with the registry's page, and JSON with JSON.
 * On the page, a refused form has its values again. Refuses the form of another site (403), and an input that does not
 * match the schema (422).
 */
export async function formAnswer<T>(
  request: LocalRequest,
  schema: z.ZodType<T>,
  fieldsOf: (form: URLSearchParams) => unknown,
  act: (given: T) => Promise<FormOutcome>,
): Promise<Answer> {
  const respond = ({ status = 200, message, more }: FormOutcome, faults?: RefusedForm["faults"]): Answer => {
    if (isJson(request)) return jsonAnswer(status, { message, ...more });
    if (status < 400 || !faults) return registryPage(status, message);
    return registryPage(status, message, { values: new URLSearchParams(request.body.toString()), faults });
  };
  if (!isOwnForm(request)) return respond({ status: 403, message: foreignForm });
  const { success, data, error } = schema.safeParse(formOrJson(request, fieldsOf));
  // With a map of faults, even an empty one, a refused form has its values again. A form that `act` refuses has no
  // faults in its fields.
  if (success) return respond(await act(data), new Map());
  const faults = new Map(error.issues.map(({ path: [name], message }) => [name, message]));
  return respond({ status: 422, message: z.prettifyError(error) }, faults);
}

type Options = { table: Table; onDelegated: () => void };

const Delegation = z.strictObject({
  name: NewDomainName,
  /** By default the nameservers of the account that connected the name. An empty list removes the delegation. */
  nameservers: z.array(z.string().trim().toLowerCase().min(1).max(253)).max(13).optional(),
  /** The records of the name at another DNS host. With records, the name is by default delegated to that host. */
  records: z.array(z.strictObject(newRecord)).max(1_000).optional(),
});
type Delegation = z.output<typeof Delegation>;

/** A time with or without milliseconds, and with any offset. The output is a `Timestamp`. */
const Time = z.iso
  .datetime({ offset: true, abort: true, error: "Write a time such as 2026-01-31T12:00:00Z" })
  .transform((at) => new Date(at).toISOString())
  .pipe(Timestamp);

/** A registration at another registrar. By default the name keeps its nameservers, and the auth code is random. */
const ElsewhereForm = Delegation.extend({
  elsewhere: z.literal(true),
  auth_code: z
    .string()
    .min(1)
    .max(255)
    .default(() => randomBytes(12).toString("base64url")),
  locked: z.boolean().default(false),
  registered_at: Time.optional(),
  expires_at: Time.optional(),
});
const RegistryForm = z.discriminatedUnion("elsewhere", [
  ElsewhereForm,
  Delegation.extend({ elsewhere: z.literal(false).optional() }),
]);
type ElsewhereForm = z.output<typeof ElsewhereForm>;

/** Reads the fields of a form. Spaces or commas separate nameservers. */
function fieldsOf(form: URLSearchParams): unknown {
  const hosts = (form.get("nameservers") ?? "").split(/[\s,]+/).filter((host) => host !== "");
  const texts = ["name", "auth_code", "registered_at"].flatMap((member) => {
    const text = form.get(member) ?? "";
    return text === "" && member !== "name" ? [] : [[member, text] as const];
  });
  return {
    ...Object.fromEntries(texts),
    ...(hosts.length > 0 ? { nameservers: hosts } : {}),
    ...(form.has("elsewhere") ? { elsewhere: true, locked: form.has("locked") } : {}),
  };
}

/** Parses the records of a name at the other DNS host. Throws an error that names the first invalid record. */
const parsedRecords = (name: string, records: readonly RecordInput[]): ParsedRecord[] =>
  records.map((record) => {
    const read = parseRecord(record, name);
    if ("record" in read) return read.record;
    throw new Error(`${record.name} ${record.type}: ${read.faults.map(({ message }) => message).join("; ")}.`);
  });

async function performDelegation(
  { name, records, nameservers = records && externalNameservers }: Delegation,
  { table, onDelegated }: Options,
): Promise<string[]> {
  if (records) await publishRecords(table, name, parsedRecords(name, records));
  const holder = nameservers ? undefined : await readHolder(table, name);
  if (!nameservers && !holder) {
    throw new Error(`No account has ${name}. Connect the name first, or give its nameservers.`);
  }
  const hosts = nameservers ?? nameserversOf(holder?.account_id ?? "");
  await delegate(table, name, hosts);
  onDelegated();
  return hosts;
}

async function applyDelegation(given: Delegation, options: Options): Promise<FormOutcome> {
  const nameservers = await performDelegation(given, options);
  const to = nameservers.length === 0 ? "nobody" : nameservers.join(" and ");
  return { message: `${given.name} is delegated to ${to}.`, more: { name: given.name, nameservers } };
}

async function applyRegistration(given: ElsewhereForm, { table, onDelegated }: Options): Promise<FormOutcome> {
  const { name, elsewhere: _, records, nameservers: hosts = records && externalNameservers, ...rest } = given;
  const registration = { ...rest, ...(hosts ? { nameservers: hosts } : {}) };
  const parsed = records && parsedRecords(name, records);
  const since = await registerElsewhere(table, name, registration);
  if (parsed) await publishRecords(table, name, parsed);
  onDelegated();
  const nameservers = (await delegationOf(table, name)) ?? [];
  const { auth_code } = registration;
  const message = `${name} is registered elsewhere from ${since} on. The auth code for its transfer is ${auth_code}.`;
  return { message, more: { name, nameservers, auth_code, since } };
}

/**
 * `/_local/registry`: the registry of domain names.
 * - GET: a page. With `?name=`, the nameservers of a name and its registration through the product, as JSON.
 * - POST: delegates a name, from a form or JSON such as `{"name": "example.com"}`. By default, `nameservers` are the
 *   nameservers of the account that connected the name. `records` replaces the records of the name at another DNS host.
 *   With `records`, `nameservers` are by default the nameservers of this host.
 * - POST with `"elsewhere": true`: registers the name at another registrar, and answers with the auth code for its
 *   transfer. With the auth code of a name that was bought through the product, transfers the name to the other
 *   registrar.
 */
export function registryPaths(options: Options): LocalPath[] {
  const show = async ({ query }: LocalRequest): Promise<Answer> => {
    const name = query.get("name");
    if (name === null) return registryPage(200);
    const { success, data, error } = NewDomainName.safeParse(name);
    if (!success) return jsonAnswer(422, { message: z.prettifyError(error) });
    const [nameservers = [], registration = null] = await Promise.all([
      delegationOf(options.table, data),
      embeddedRegistrar(options.table, clock).registration(data),
    ]);
    return jsonAnswer(200, { name: data, nameservers, registration });
  };
  const change = (request: LocalRequest): Promise<Answer> =>
    formAnswer(request, RegistryForm, fieldsOf, (given) => {
      const outcome = given.elsewhere ? applyRegistration(given, options) : applyDelegation(given, options);
      return outcome.catch((failure: unknown) => ({
        status: 409,
        message: failure instanceof Error ? failure.message : String(failure),
      }));
    });
  return [
    { method: "GET", path: "/_local/registry", handle: show },
    { method: "POST", path: "/_local/registry", handle: change },
  ];
}
