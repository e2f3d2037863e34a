import { routes } from "../routes.ts";
import { catalogueOf, type Catalogue } from "./catalogue/code-function.ts";
import { discoveryRoutes } from "./catalogue/discovery.ts";
import { sessionRoutes } from "./sessions/session-functions.ts";

/** What code mode offers: every route, and what is about programs themselves. */
export const catalogue: Catalogue = catalogueOf([...routes, ...sessionRoutes, ...discoveryRoutes(() => catalogue)]);

/** Whether a function changes something. */
export const isWrite = (name: string): boolean => catalogue.get(name)?.route.access === "write";
