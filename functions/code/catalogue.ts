import { routes } from "../routes.ts";
import { catalogueOf, type Catalogue } from "./catalogue/function.ts";
import { discoveryRoutes } from "./catalogue/routes.ts";
import { sessionRoutes } from "./sessions/routes.ts";

/** What code mode offers: every route, and what is about programs themselves. */
export const catalogue: Catalogue = catalogueOf([...routes, ...sessionRoutes, ...discoveryRoutes(() => catalogue)]);

/** Whether a function changes something. */
export const isWrite = (name: string): boolean => catalogue.get(name)?.route.access === "write";
