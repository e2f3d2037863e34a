import { readAndChange } from "./read-and-change.ts";

readAndChange("first-edition");
