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

/** Tool that is packed but not published yet. */
export const studioTarball = join(tarballFolder, 'bowline-studio.tgz')

/** @returns {PublishedPackage[]} the packages that go to the registry */
export function publishedPackages() {
  return readdirSync(join(root, 'packages')).map((directory) => {
    const folder = join(root, 'packages', directory)
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    return {
      name: manifest.name,
      folder,
      entries: Object.keys(manifest.exports).map((subpath) => join(manifest.name, subpath)),
      bins: Object.keys(manifest.bin ?? {}),
      // Name that `pnpm pack` uses.
      tarball: join(tarballFolder, `${manifest.name.replace('@', '').replace('/', '-')}.tgz`),
    }
  })
}
