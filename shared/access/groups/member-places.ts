import * as z from "zod";

import { defineKind } from "../../changes/kind.ts";
import { Id } from "../../core/ids.ts";
import { Timestamp } from "../../core/time.ts";
import type { Subject } from "../../grants/holders.ts";
import type { List } from "../../table/ranked-list.ts";
import type { Key } from "../../table/writes.ts";

/*
 * Access patterns
 *   explicit members of a group, oldest first   ACCOUNT#<id> / LIST#members/<group id>
 *   where a member stands in that list          ACCOUNT#<id> / MEMBER#<group id>#<member type>#<member id>
 *   the groups of a member                      its own access record (access.ts)
 */
export const membersOf = (accountId: string, groupId: string): List => ({
  partition: `ACCOUNT#${accountId}`,
  name: `members/${groupId}`,
});
export const memberKey = (accountId: string, groupId: string, member: Pick<Subject, "type" | "id">): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `MEMBER#${groupId}#${member.type}#${member.id}`,
});

export const MemberType = z.enum(["user", "service_account"]).meta({ description: "What the member is." });

export const GroupMember = z
  .object({
    group_id: Id.meta({ description: "The group." }),
    subject_id: Id.meta({ description: "The member: a user or a service account." }),
    subject_type: MemberType,
    added_at: Timestamp.meta({ description: "When it was made a member." }),
  })
  .meta({ id: "GroupMember", description: "An explicit member of a group; tokens can name further ones." });

export const memberKind = defineKind({
  name: "auth.group_member",
  verbs: ["added", "removed"],
  view: GroupMember,
  seenWith: "auth.manage",
});

export const Place = GroupMember.extend({ ordinal: z.int() });
