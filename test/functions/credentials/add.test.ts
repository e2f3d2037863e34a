import { test } from "vitest";

test.todo("later");
