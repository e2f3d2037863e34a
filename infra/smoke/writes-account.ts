import { randomUUID } from "node:crypto";

import type { Check } from "./run.ts";
import { expect, expectGone, removeNamed, type Scene } from "./scene.ts";

/** A public address of ICANN's, for a host that never proves itself: until it does, nothing is sent to it. */
const someHost = "192.0.46.8";

const people: Check[] = [
  {
    name: "auth.groups, members, grants, roles",
    writes: true,
    run: async (scene) => {
      const { api, path, name } = scene;
      const { id: group_id } = (await api.auth.groups.create({ path, body: { name } })).data;
      const at = { ...path, group_id };
      const remove = scene.made(`group ${name} (${group_id})`, () => api.auth.groups.delete({ path: at }));
      const member = { subject_id: randomUUID(), subject_type: "user" } as const;
      await api.auth.groups.members.add({ path: at, body: member });
      await api.auth.groups.members.remove({ path: { ...at, member_id: member.subject_id } });
      await grantAndRevoke(scene, group_id);
      await remove();
      await expectGone(api.auth.groups.get({ path: at }));
    },
  },
  {
    name: "auth.service_accounts: create, rotate, revoke",
    writes: true,
    run: async (scene) => {
      const { api, path, name } = scene;
      const expires_at = new Date(Date.now() + 3_600_000).toISOString();
      const { made, remove } = await scene.making(
        `service account ${name}`,
        async () =>
          removeNamed(
            (await api.auth.service_accounts.list({ path })).data,
            (one) => one.name === name && one.revoked_at === null,
            (service_account_id) => api.auth.service_accounts.revoke({ path: { ...path, service_account_id } }),
          ),
        () => api.auth.service_accounts.create({ path, body: { name, expires_at } }),
      );
      const { id, token } = made.data;
      const at = { ...path, service_account_id: id };
      const ask = (as: string): Promise<Response> =>
        scene.ask("/v1/public/me", { headers: { authorization: `Bearer ${as}` } });
      expect((await ask(token)).status === 200, "its token is not let in");
      await api.auth.service_accounts.rotate({ path: at, body: { overlap_seconds: 0 } });
      expect((await ask(token)).status === 401, "a token that was rotated away is still let in");
      await remove();
    },
  },
];

async function grantAndRevoke({ api, path }: Scene, group: string): Promise<void> {
  const subject = { subject_id: group, subject_type: "group" } as const;
  // The narrowest that there is. It goes with the group, whatever happens in between.
  const body = { ...subject, grant_kind: "capability", capability_key: "account.view" } as const;
  const { id: grant_id } = (await api.auth.authorizations.grant({ path, body })).data;
  await api.auth.authorizations.revoke({ path: { ...path, grant_id } });
  const role = { ...subject, role_key: "viewer" } as const;
  const { id: assignment_id } = (await api.auth.role_assignments.assign({ path, body: role })).data;
  await api.auth.role_assignments.revoke({ path: { ...path, assignment_id } });
}

const things: Check[] = [
  {
    name: "tags: add, send again, delete",
    writes: true,
    run: async (scene) => {
      const { api, path, name } = scene;
      const sent = { path, body: { name }, headers: { "Idempotency-Key": randomUUID() } };
      const { id: tag_id } = (await api.tags.add(sent)).data;
      const remove = scene.made(`tag ${name} (${tag_id})`, () => api.tags.delete({ path: { ...path, tag_id } }));
      const again = await api.tags.add(sent);
      expect(again.data.id === tag_id, "the same key made another one");
      expect(again.response.headers.get("idempotency-replayed") === "true", "the repeat is not marked as one");
      await remove();
    },
  },
  {
    name: "webhooks: add, stop, delete",
    writes: true,
    run: async (scene) => {
      const { api, path } = scene;
      // An event that this run does not cause, so that nothing is sent to the address.
      const body = { url: `https://example.com/${scene.name}`, event_types: ["feedback.updated"] };
      const { made, remove } = await scene.making(
        `webhook ${body.url}`,
        async () =>
          removeNamed(
            (await api.webhooks.list({ path, query: { page_size: 100 } })).data.items,
            ({ url }) => url === body.url,
            (webhook_id) => api.webhooks.delete({ path: { ...path, webhook_id } }),
          ),
        () => api.webhooks.add({ path, body }),
      );
      const { id: webhook_id, secret } = made.data;
      const at = { ...path, webhook_id };
      expect(secret.startsWith("whsec_"), "no signing secret came");
      const { status } = (await api.webhooks.update({ path: at, body: { active: false } })).data;
      expect(status === "disabled", `it is ${status}, not disabled`);
      await remove();
      await expectGone(api.webhooks.get({ path: at }));
    },
  },
  {
    name: "dedicated_ips: add, get, delete",
    writes: true,
    run: async (scene) => {
      const { api, path, name } = scene;
      const { id } = (await api.dedicated_ips.add({ path, body: { name, ip_addresses: [someHost] } })).data;
      const at = { ...path, dedicated_ip_id: id };
      const remove = scene.made(`dedicated IP ${name} (${id})`, () => api.dedicated_ips.delete({ path: at }));
      await api.dedicated_ips.get({ path: at });
      await remove();
    },
  },
];

/** What concerns the account as a whole. */
export const accountWrites: readonly Check[] = [...people, ...things];
