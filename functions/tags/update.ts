import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { Tag, TagChanges, tagKey, TagParams, updateTag } from "../../shared/tags/tag.ts";

export const route = defineRoute({
  name: "tags.update",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/tags/{tag_id}" },
  summary: "Rename or change a tag",
  synonyms: ["label", "category", "edit", "name", "colour", "color"],
  description:
    "Members of the body that you leave out stay as they are. Every domain that has the tag shows its new name.",
  capability: "tag.manage",
  access: "write",
  params: TagParams,
  body: TagChanges,
  output: Tag,
  problems: ["tag_name_taken"],
  ahead: ({ params }) => ({ keys: [tagKey(params.account_id, params.tag_id)] }),
  run: ({ params, body }, context) => updateTag(params.account_id, params.tag_id, body, context),
});

export const handler = http(route);
