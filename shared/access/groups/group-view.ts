import * as z from "zod";

import { AccountParams } from "../../accounts/account.ts";
import { withAncestors, type GroupsRecord } from "../../accounts/standing.ts";
import { capabilities, Capability, RoleKey } from "../../auth/capabilities.ts";
import { capabilitiesOf, ResourceType } from "../../auth/permissions.ts";
import { defineKind } from "../../changes/kind.ts";
import { Attributes } from "../../core/attributes.ts";
import { Id } from "../../core/ids.ts";
import { line, lines, orNothing } from "../../core/text.ts";

export const GroupParams = AccountParams.extend({ group_id: Id.meta({ description: "The group's id." }) });

export const GroupName = line({
  most: 255,
  description: "The group's name, unique in the account ignoring case, without a slash.",
}).regex(/^[^/]*$/, { error: "A slash is not allowed: it separates the names in a path" });

export const GroupDescription = orNothing(lines({ least: 0, most: 2_000, description: "A description for people." }));

export const GroupAttributes = Attributes.nullish().meta({
  description: "Anything of your own to keep with the group; up to 8 KiB of JSON, 20 levels deep.",
});

const PermissionContext = z
  .object({
    assigned_bundle_keys: z.array(RoleKey).meta({ description: "The roles assigned to the group itself." }),
    direct_capability_keys: z.array(Capability).meta({ description: "The capabilities granted to the group itself." }),
    owner_assignments: z
      .array(z.object({ account_id: Id.meta({ description: "The account." }) }))
      .meta({ description: "The accounts the group owns." }),
    resolved_capability_keys: z
      .array(Capability)
      .meta({ description: "All that its members hold through it on something: its own and what it inherits." }),
    status: z.string().meta({ description: "`active`." }),
    subject_id: Id.meta({ description: "The group's id again." }),
    subject_type: z.string().meta({ description: "`group`." }),
  })
  .meta({ id: "PermissionContext", description: "What being in the group gives." });

export const AuthGroup = z
  .object({
    id: Id.meta({ description: "The group's id." }),
    account_id: Id.meta({ description: "The account it belongs to." }),
    name: z.string().meta({ description: "The group's name, unique in its account ignoring case." }),
    idp_name: z
      .string()
      .meta({ description: "What the `groups` claim of a token calls it. Never used again for another." }),
    attributes: z.record(z.string(), z.unknown()).optional().meta({ description: "What was kept with the group." }),
    description: z.string().nullable().optional().meta({ description: "A description for people." }),
    idp_account_id: z
      .string()
      .nullable()
      .optional()
      .meta({ description: "What the identity provider calls the account." }),
    linked_scopes: z
      .array(
        z.object({
          resource_id: z.string().meta({ description: "The thing." }),
          resource_type: ResourceType.meta({ description: "What kind of thing it is." }),
        }),
      )
      .optional()
      .meta({ description: "The things that the group's own grants are narrowed to." }),
    parent_id: Id.nullable().optional().meta({ description: "The group it is inside of, whose grants it inherits." }),
    path: z.string().nullable().optional().meta({ description: "The names from the outermost group to this one." }),
    subgroup_ids: z.array(Id).optional().meta({ description: "The groups directly inside of it." }),
    permission_context: PermissionContext.optional(),
  })
  .meta({ id: "AuthGroup", description: "A group of users and service accounts." });

export const groupKind = defineKind({
  name: "auth.group",
  verbs: ["created", "updated", "deleted"],
  view: AuthGroup,
  own: AuthGroup.omit({ linked_scopes: true, path: true, subgroup_ids: true, permission_context: true }),
  seenWith: "auth.manage",
});

export const StoredGroup = z.object({
  id: z.string(),
  account_id: z.string(),
  name: z.string(),
  idp_name: z.string(),
  /** As JSON text: a DynamoDB map has limits on depth and numbers that JSON has not. */
  attributes: z.string(),
  description: z.string().nullable(),
  version: z.int(),
});
export type StoredGroup = z.output<typeof StoredGroup>;

/** The specified group, from what is stored of it, what all groups hold, and the names of those above it. */
export function groupView(
  group: StoredGroup,
  record: GroupsRecord,
  nameOf: (id: string) => string,
): z.output<typeof AuthGroup> {
  const { id, account_id } = group;
  const lineage = withAncestors(record, [id]);
  const own = record.groups[id] ?? { grants: [] };
  const scopes = new Map(own.grants.flatMap(({ scope }) => (scope ? [[`${scope.type} ${scope.id}`, scope]] : [])));
  return {
    ...group,
    attributes: JSON.parse(group.attributes) as Record<string, unknown>,
    idp_account_id: account_id,
    linked_scopes: [...scopes.values()].map((scope) => ({ resource_id: scope.id, resource_type: scope.type })),
    parent_id: own.parent_id ?? null,
    path: `/${lineage.toReversed().map(nameOf).join("/")}`,
    // A stored map has no order; ids of groups sort by age.
    subgroup_ids: Object.keys(record.groups)
      .filter((child) => record.groups[child]?.parent_id === id)
      .toSorted(),
    permission_context: {
      assigned_bundle_keys: [...new Set(own.grants.flatMap(({ role }) => role ?? []))],
      direct_capability_keys: [...new Set(own.grants.flatMap(({ capability }) => capability ?? []))],
      owner_assignments: own.owner_grant_id === undefined ? [] : [{ account_id }],
      resolved_capability_keys: resolved(record, lineage),
      status: "active",
      subject_id: id,
      subject_type: "group",
    },
  };
}

function resolved(record: GroupsRecord, lineage: readonly string[]): z.output<typeof Capability>[] {
  const holders = lineage.flatMap((id) => record.groups[id] ?? []);
  if (holders.some(({ owner_grant_id }) => owner_grant_id !== undefined)) return [...capabilities];
  const held = new Set(holders.flatMap(({ grants }) => grants.flatMap(capabilitiesOf)));
  return capabilities.filter((capability) => held.has(capability));
}
