// Packages of the project, resolved as its own files would. Nothing is imported that the project does not have.

import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

let agentFile;

/** The file that the target names: what it imports is what is meant. */
export function setAgentFile(file) {
  agentFile = file;
}

/**
 * The copies of a package that the project's files may have loaded, the likeliest first: `import` and `require` can mean different files,
 * and the file behind a link (pnpm, workspaces) can have other packages than the one that was named.
 */
export async function* packageCopies(name) {
  const files = [agentFile, fs.realpathSync(agentFile), path.join(process.cwd(), 'package.json')];
  for (const require of [...new Set(files)].map(createRequire)) {
    const required = resolved(require, name);
    const isLoaded = required !== undefined && required in require.cache;
    if (isLoaded) yield require(name);
    const entry = importEntry(require, name);
    if (entry !== undefined) yield await import(pathToFileURL(entry));
    if (required !== undefined && !isLoaded) yield require(name);
  }
}

function resolved(require, name) {
  try {
    return require.resolve(name);
  } catch {
    return undefined;
  }
}

/** The file that `import` takes; `require.resolve` knows that of `require` alone. */
function importEntry(require, name) {
  for (const folder of require.resolve.paths(name) ?? []) {
    const file = path.join(folder, name, 'package.json');
    if (!fs.existsSync(file)) continue;
    const described = JSON.parse(fs.readFileSync(file, 'utf8'));
    const entry = imported(described.exports?.['.'] ?? described.exports) ?? described.module ?? described.main;
    return entry && path.join(path.dirname(fs.realpathSync(file)), entry);
  }
  return undefined;
}

const CONDITIONS = ['import', 'module-sync', 'node', 'default'];

function imported(exported) {
  if (typeof exported !== 'object' || exported === null) return exported ?? undefined;
  // In the order of the package, as Node does it.
  const condition = Object.keys(exported).find((key) => CONDITIONS.includes(key));
  return condition && imported(exported[condition]);
}
