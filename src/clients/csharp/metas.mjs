// The .meta files of the package for Unity, which ignores a file of a package that has none. Their ids are made from the paths.
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));

const importers = { cs: 'MonoImporter', asmdef: 'AssemblyDefinitionImporter', json: 'PackageManifestImporter', jslib: 'PluginImporter' };

/** The settings of a plug-in that is for browsers only. */
const forBrowsers = `  isPreloaded: 0
  isOverridable: 0
  isExplicitlyReferenced: 0
  validateReferences: 1
  platformData:
  - first:
      Any: 
    second:
      enabled: 0
      settings: {}
  - first:
      WebGL: WebGL
    second:
      enabled: 1
      settings: {}
`;

/** @returns the text of each .meta file by its path below this folder */
export function metas() {
  const made = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.name.endsWith('.meta')) continue;
    const path = `${entry.parentPath}/${entry.name}`.slice(folder.length).replace(/^\/+/, '');
    made[`${path}.meta`] = meta(path, entry.isDirectory());
  }
  return made;
}

function meta(path, isFolder) {
  const id = createHash('md5').update(`coinop/${path}`).digest('hex');
  const extension = path.split('.').pop();
  const importer = isFolder ? 'DefaultImporter' : (importers[extension] ?? 'TextScriptImporter');
  return `fileFormatVersion: 2
guid: ${id}
${isFolder ? 'folderAsset: yes\n' : ''}${importer}:
  externalObjects: {}
${extension === 'jslib' ? forBrowsers : ''}  userData: 
  assetBundleName: 
  assetBundleVariant: 
`;
}
