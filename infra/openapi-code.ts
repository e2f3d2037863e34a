import * as z from "zod";
import type { ZodOpenApiOperationObject } from "zod-openapi";

export const codeOperations: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
void z;
