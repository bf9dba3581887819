import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './setup.mjs'

/**
 * @typedef {object} PublishedPackage
 * @property {string} name
 * @property {string} folder absolute
 * @property {readonly string[]} entries what users import: `@scope/name`, `@scope/name/sub`
 * @property {readonly string[]} bins names of its commands
 * @property {string} tarball absolute; exists after scripts/pack.mjs
 */

export const tarballFolder = join(root, 'node_modules/.cache/bowline/tarballs')

/** @returns {PublishedPackage[]} the packages that go to the registry */
export function publishedPackages() {
  return [...libraries(), packageIn('apps/studio')]
}

/** @returns {PublishedPackage[]} the published packages that code imports */
export function libraries() {
  return readdirSync(join(root, 'packages')).map((directory) => packageIn(join('packages', directory)))
}

/**
 * @param {string} directory relative to the root
 * @returns {PublishedPackage}
 */
function packageIn(directory) {
  const folder = join(root, directory)
  const { name, bin, publishConfig } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return {
    name,
    folder,
    entries: Object.keys(publishConfig.exports)
      .filter((subpath) => subpath !== './package.json')
      .map((subpath) => join(name, subpath)),
    bins: Object.keys(bin ?? {}),
    // Name that `pnpm pack` uses.
    tarball: join(tarballFolder, `${name.replace('@', '').replace('/', '-')}.tgz`),
  }
}
