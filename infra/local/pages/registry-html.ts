import type { Answer } from "../server/answer.ts";
import { htmlAnswer } from "./html.ts";

const content = `
<h2>Domains</h2>
<p>Plays the registries of all top-level domains: for names that are registered elsewhere, say here whom their
  owner delegates them to. Names that are bought here are delegated by themselves.</p>
<form method="post" action="/_local/registry">
  <label>Name <input name="name" required placeholder="example.com" /></label>
  <label>Nameservers <input name="nameservers" placeholder="those of its account" /></label>
  <button>Delegate</button>
</form>
<h2>Reverse DNS</h2>
<p>Plays the providers of all IP addresses, and whoever has the hosts at them: say here what an address is called, by
  its PTR record. An empty name takes it away. In a domain that is delegated, what its own records say counts.</p>
<form method="post" action="/_local/registry/reverse">
  <label>Address <input name="ip" required placeholder="45.12.0.7" /></label>
  <label>Name <input name="rdns" placeholder="mail.example.com" /></label>
  <label><input type="checkbox" name="forward" /> and the name leads to the address</label>
  <label>TXT record at _setup <input name="txt" placeholder="as it is" /></label>
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
