import { readAndChange } from "./read-and-change.ts";

readAndChange("second-edition");
