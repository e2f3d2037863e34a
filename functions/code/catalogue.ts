import { routes } from "../routes.ts";
import { catalogueOf, type Catalogue } from "./catalogue/function.ts";
import { discoveryRoutes } from "./catalogue/routes.ts";
import { sessionRoutes } from "./sessions/routes.ts";

/** All functions of code mode: every route, the session functions and the discovery functions. */
export const catalogue: Catalogue = catalogueOf([...routes, ...sessionRoutes, ...discoveryRoutes(() => catalogue)]);

/** Tells whether the function of this name changes something. */
export const isWrite = (name: string): boolean => catalogue.get(name)?.route.access === "write";
