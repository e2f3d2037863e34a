import { expect, test } from "vitest";

import { EventPattern, matches } from "../../../shared/webhooks/webhook.ts";

test.each(["*", "workspace.*", "auth.*", "auth.group.*", "workspace.created", "auth.group.member_added", "dns2.x9"])(
  "%s is a pattern of event types",
  (pattern) => expect(EventPattern.parse(pattern)).toBe(pattern),
);

test.each([
  "",
  "**",
  "workspace",
  "workspace.",
  ".*",
  ".created",
  "*.created",
  "workspace.*.x",
  "auth..group",
  "Workspace.*",
  "workspace.c*",
  "workspace.created ",
  "workspace.created\n",
  "9.x",
  "a.9",
  `a.${"b".repeat(99)}`,
  7,
  null,
])("%j is not a pattern of event types", (pattern) => expect(EventPattern.safeParse(pattern).success).toBe(false));

test.each([
  ["*", "workspace.created", true],
  ["workspace.*", "workspace.created", true],
  ["workspace.*", "workspaces.created", false],
  ["workspace.*", "workspace", false],
  ["auth.*", "auth.group.created", true],
  ["auth.*", "authority.created", false],
  ["auth.group.*", "auth.group.created", true],
  ["auth.group.*", "auth.groups.created", false],
  ["auth.group.*", "auth.role.created", false],
  ["workspace.created", "workspace.created", true],
  ["workspace.created", "workspace.created.again", false],
  ["workspace.created", "workspace_created", false],
])("%s matches %s: %s", (pattern, type, meant) => expect(matches(pattern, type)).toBe(meant));
