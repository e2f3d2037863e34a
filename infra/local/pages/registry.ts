import * as z from "zod";

import { nameserversOf } from "../../../shared/core/platform.ts";
import { escapeHtml } from "../../../shared/core/text.ts";
import { clock } from "../../../shared/core/time.ts";
import { readHolder } from "../../../shared/domains/holder.ts";
import { NewDomainName } from "../../../shared/domains/registrable.ts";
import { delegate, delegationOf } from "../../../shared/providers/registrar/embedded-names.ts";
import { embeddedRegistrar } from "../../../shared/providers/registrar/embedded.ts";
import type { Table } from "../../../shared/table/table.ts";
import { type Answer, jsonAnswer } from "../server/http-message.ts";
import type { LocalPath, LocalRequest } from "../server/respond.ts";
import { formOrJson, isJson, isOwnForm } from "./forms.ts";
import { htmlAnswer } from "./html.ts";

const content = `
<h2>Domains</h2>
<p>This form plays the registries of all top-level domains. Delegate a name that is registered elsewhere to nameservers.
  A name that is bought through the product is delegated already.</p>
<form method="post" action="/_local/registry">
  <label>Name <input name="name" required placeholder="example.com" /></label>
  <label>Nameservers <input name="nameservers" placeholder="the account's nameservers" /></label>
  <button>Delegate</button>
</form>
<h2>Registrations</h2>
<p>Look up a name: its nameservers, and if it was bought through the product, the phase, dates and statuses of its
  registration.</p>
<form action="/_local/registry">
  <label>Name <input name="name" required placeholder="example.com" /></label>
  <button>Look up</button>
</form>
<h2>Reverse DNS</h2>
<p>This form plays the providers of all IP addresses, and the hosts at these addresses. Set the PTR record of an
  address. An empty name removes the record. In a delegated domain, the domain's own records count.</p>
<form method="post" action="/_local/registry/reverse">
  <label>Address <input name="ip" required placeholder="45.12.0.7" /></label>
  <label>Name <input name="rdns" placeholder="mail.example.com" /></label>
  <label><input type="checkbox" name="forward" /> The name resolves to the address</label>
  <label>TXT record at _setup <input name="txt" placeholder="unchanged" /></label>
  <button>Set</button>
</form>`;

/** The page of the registry; `notice` is HTML. */
export const registryPage = (status: number, notice = ""): Answer =>
  htmlAnswer(
    status,
    "Registry",
    `${notice === "" ? "" : `<div role="status"><p>${notice}</p></div>`}
      ${content}`,
  );

type Options = { table: Table; onDelegated: () => void };

const Delegation = z.strictObject({
  name: NewDomainName,
  /** By default those of the account that connected the name; an empty list removes the delegation. */
  nameservers: z.array(z.string().trim().toLowerCase().min(1).max(253)).max(13).optional(),
});
type Delegation = z.output<typeof Delegation>;

/** In a form, several nameservers are separated by spaces or commas. */
function fieldsOf(form: URLSearchParams): unknown {
  const hosts = (form.get("nameservers") ?? "").split(/[\s,]+/).filter((host) => host !== "");
  return { name: form.get("name") ?? "", ...(hosts.length > 0 ? { nameservers: hosts } : {}) };
}

async function performDelegation(
  { name, nameservers }: Delegation,
  { table, onDelegated }: Options,
): Promise<string[]> {
  const holder = nameservers ? undefined : await readHolder(table, name);
  if (!nameservers && !holder) {
    throw new Error(`No account has ${name}. Connect the name first, or give its nameservers.`);
  }
  const hosts = nameservers ?? nameserversOf(holder?.account_id ?? "");
  await delegate(table, name, hosts);
  onDelegated();
  return hosts;
}

/**
 * `/_local/registry`: the registry of domain names.
 * - GET: a page, or with `?name=` the nameservers of a name and its registration through the product as JSON.
 * - POST: delegates a name, from a form or JSON such as `{"name": "example.com"}`. `nameservers` defaults to those of
 *   the account that connected the name.
 */
export function registryPaths(options: Options): LocalPath[] {
  const show = async ({ query }: LocalRequest): Promise<Answer> => {
    const given = query.get("name");
    if (given === undefined || given === null) return registryPage(200);
    const { success, data, error } = NewDomainName.safeParse(given);
    if (!success) return jsonAnswer(422, { message: z.prettifyError(error) });
    const [nameservers = [], registration = null] = await Promise.all([
      delegationOf(options.table, data),
      embeddedRegistrar(options.table, clock).registration(data),
    ]);
    return jsonAnswer(200, { name: data, nameservers, registration });
  };
  const change = async (request: LocalRequest): Promise<Answer> => {
    const tell = (status: number, message: string, more: object = {}): Answer =>
      isJson(request) ? jsonAnswer(status, { message, ...more }) : registryPage(status, escapeHtml(message));
    if (!isOwnForm(request)) return tell(403, "Another site sent this form, so it is refused.");
    const { success, data, error } = Delegation.safeParse(formOrJson(request, fieldsOf));
    if (!success) return tell(422, z.prettifyError(error));
    try {
      const nameservers = await performDelegation(data, options);
      const to = nameservers.length === 0 ? "nobody" : nameservers.join(" and ");
      return tell(200, `${data.name} is delegated to ${to}.`, { name: data.name, nameservers });
    } catch (failure) {
      return tell(409, failure instanceof Error ? failure.message : String(failure));
    }
  };
  return [
    { method: "GET", path: "/_local/registry", handle: show },
    { method: "POST", path: "/_local/registry", handle: change },
  ];
}
