// usage: node custom_resources.mjs FILE PACKAGES
// Validates objects of the Prometheus operator and of KEDA against the schemas that their projects publish, as the
// packages @kubernetes-models/… in the folder PACKAGES have them. An unknown field isn't found.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [file, packages] = process.argv.slice(2);
const PACKAGE_OF = { "monitoring.coreos.com": "prometheus-operator", "keda.sh": "keda" };

async function validate(object) {
  const models = PACKAGE_OF[object.apiVersion.split("/")[0]];
  const path = resolve(packages, `node_modules/@kubernetes-models/${models}/${object.apiVersion}/${object.kind}.js`);
  const { [object.kind]: Model } = await import(pathToFileURL(path));
  new Model(object).validate();
}

const objects = JSON.parse(readFileSync(file, "utf8"));
let wrong = objects.length === 0 ? ["no objects to validate"] : [];
for (const object of objects) {
  await validate(object).catch((error) => wrong.push(`${object.kind} ${object.metadata.name}: ${error.message}`));
}
console.log(wrong.join("\n") || `${objects.length} objects fit the schemas of their projects`);
process.exit(wrong.length && 1);
