import { readAndChange } from "./read-and-change.ts";

readAndChange("fourth-edition");
