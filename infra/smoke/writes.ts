import { setTimeout as delay } from "node:timers/promises";

import { ApiError } from "#client";

import type { Check } from "./run.ts";
import { expect, expectGone, refusalOf, type Scene } from "./scene.ts";

/** How long a domain may take to go, and with it the workspace that it is in. */
const goingMs = 30_000;

/** The workspace is not empty as long as its domain is on its way out. */
async function deleteWorkspace({ api, path }: Scene, workspace_id: string): Promise<void> {
  for (const until = performance.now() + goingMs; ;) {
    try {
      await api.workspaces.delete({ path: { ...path, workspace_id } });
      return;
    } catch (error) {
      const isWaiting = error instanceof ApiError && error.code === "workspace_not_empty";
      if (!isWaiting || performance.now() > until) throw error;
      await delay(1000);
    }
  }
}

/** What everything else is done in: they stay until the end. */
const places: Check[] = [
  {
    name: "workspaces: add, get, update",
    writes: true,
    run: async (scene) => {
      const { api, path, name } = scene;
      const { id: workspace_id } = (await api.workspaces.add({ path, body: { name } })).data;
      scene.made(`workspace ${name} (${workspace_id})`, () => deleteWorkspace(scene, workspace_id));
      scene.workspaceId = workspace_id;
      const at = { ...path, workspace_id };
      const tag = (await api.workspaces.get({ path: at })).response.headers.get("etag") ?? "";
      const body = { name: `${name} renamed` };
      await api.workspaces.update({ path: at, body, headers: { "If-Match": tag } });
      const stale = api.workspaces.update({ path: at, body: { name }, headers: { "If-Match": tag } });
      expect((await refusalOf(stale)).status === 412, "an old entity tag is let in");
    },
  },
  {
    name: "domains: add, get, update, verify",
    writes: true,
    run: async (scene) => {
      const { api, path } = scene;
      const name = `hosted-mail-${scene.name}.com`;
      const { data } = await api.domains.add({ path, body: { name, workspace_id: scene.workspace } });
      const at = { ...path, domain: name };
      scene.made(`domain ${name}`, () => api.domains.delete({ path: at }));
      scene.domain = name;
      expect(data.nameservers.length === 2, "it has no two nameservers to delegate to");
      await api.domains.update({ path: at, body: { dmarc_policy: "quarantine" } });
      const { dmarc_policy } = (await api.domains.get({ path: at })).data;
      expect(dmarc_policy === "quarantine", "what was written is not what is read");
      const { verified } = (await api.domains.verify({ path: at })).data;
      expect(!verified, "it is delegated to us, which nobody has done");
    },
  },
];

const inDomain: Check[] = [
  {
    name: "dns_records: add, update, delete",
    writes: true,
    run: async (scene) => {
      const { api, path, domainName: domain } = scene;
      const { data } = await api.dns_records.add({ path, body: { domain, name: "smoke", type: "TXT", value: "one" } });
      const at = { ...path, record_id: data.id };
      const remove = scene.made(`DNS record ${data.id}`, () => api.dns_records.delete({ path: at }));
      const { value } = (await api.dns_records.update({ path: at, body: { value: "two" } })).data;
      expect(value === "two", `its value is ${value}`);
      expect((await api.dns_records.get({ path: at })).data.value === "two", "it is read otherwise");
      await remove();
      const { items } = (await api.dns_records.list({ path, query: { domain, name: "smoke" } })).data;
      expect(items.length === 0, "it is still listed");
    },
  },
  {
    name: "mailboxes: add, alias, pause, reveal, delete",
    writes: true,
    run: async (scene) => {
      const { api, path, domainName: domain } = scene;
      const person = { local_part: "smoke", first_name: "Smoke", last_name: "Test" };
      const { id: mailbox, primary_email } = (await api.mailboxes.add({ path, body: { domain, ...person } })).data;
      const at = { ...path, mailbox };
      const remove = scene.made(`mailbox ${primary_email}`, () => api.mailboxes.delete({ path: at }));
      const { alias } = (await api.mailboxes.aliases.create({ path: at, body: { alias: "smoke-too" } })).data;
      await api.mailboxes.aliases.delete({ path: { ...at, alias } });
      await api.mailboxes.activate({ path: at, body: { active: false } });
      const { status } = (await api.mailboxes.get({ path: at })).data;
      expect(status === "paused", `it is ${status}, not paused`);
      await revealOnce(scene, mailbox);
      await remove();
      await expectGone(api.mailboxes.get({ path: at }));
    },
  },
  {
    name: "credentials: add, rename, delete",
    writes: true,
    run: async (scene) => {
      const { api, path, name, domainName: domain } = scene;
      const { data } = await api.credentials.add({ path, body: { name, generate: true, domain } });
      const at = { ...path, credential_id: data.id };
      const remove = scene.made(`master password ${data.id}`, () => api.credentials.delete({ path: at }));
      expect((data.generated_secret ?? "").length >= 12, "no password came");
      await api.credentials.update({ path: at, body: { name: `${name} renamed` } });
      expect((await api.credentials.get({ path: at })).data.name === `${name} renamed`, "it is called otherwise");
      await remove();
    },
  },
  {
    name: "forwarding: add, stop, delete",
    writes: true,
    run: async (scene) => {
      const { api, path, domainName: domain } = scene;
      const person = { local_part: "copies", first_name: "Smoke", last_name: "Test" };
      const { id: mailbox, primary_email } = (await api.mailboxes.add({ path, body: { domain, ...person } })).data;
      const removeMailbox = scene.made(`mailbox ${primary_email}`, () =>
        api.mailboxes.delete({ path: { ...path, mailbox } }),
      );
      // To a mailbox of the account, so that nobody is written to.
      const { data } = await api.forwarding.add({
        path,
        body: { target_email: primary_email, workspace_id: scene.workspace },
      });
      const at = { ...path, forwarding_id: data.id };
      const remove = scene.made(`forwarding rule ${data.id}`, () => api.forwarding.delete({ path: at }));
      expect(data.verification_state === "internal", `its recipient is ${data.verification_state}, not internal`);
      await api.forwarding.activate({ path: at, body: { active: false } });
      expect(!(await api.forwarding.get({ path: at })).data.active, "it is still on");
      await remove();
      await removeMailbox();
    },
  },
];

async function revealOnce({ api, path }: Scene, mailbox: string): Promise<void> {
  // The revealing of a mailbox that nobody will use; the password stays in this process and dies with the mailbox.
  const at = { ...path, mailbox };
  try {
    const { password } = (await api.mailboxes.reveal_credentials({ path: at })).data;
    expect(password.length >= 20, "the password is short");
  } catch (error) {
    if (error instanceof ApiError && error.code === "forbidden") return;
    throw error;
  }
  const { code } = await refusalOf(api.mailboxes.reveal_credentials({ path: at }));
  expect(code === "secret_already_shown", `the second reveal answers ${code}`);
}

/** The checks that make a place to work in, and what is done there. */
export const writes: readonly Check[] = [...places, ...inDomain];
