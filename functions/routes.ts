import type { Route } from "../shared/route.ts";
import { route as accountsGet } from "./accounts/get.ts";
import { route as accountsList } from "./accounts/list.ts";
import { route as meGet } from "./me/get.ts";
import { route as workspacesAdd } from "./workspaces/add.ts";
import { route as workspacesDelete } from "./workspaces/delete.ts";
import { route as workspacesGet } from "./workspaces/get.ts";
import { route as workspacesList } from "./workspaces/list.ts";
import { route as workspacesUpdate } from "./workspaces/update.ts";

/** Every route of the public API. Whatever is derived from the routes is derived from this list. */
export const routes: readonly Route[] = [
  accountsList,
  accountsGet,
  meGet,
  workspacesList,
  workspacesAdd,
  workspacesGet,
  workspacesUpdate,
  workspacesDelete,
];
