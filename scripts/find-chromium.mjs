import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

// The shell without windows needs a third less time.
const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** @param {string} file */
function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Returns the Chromium of this machine: the one in `CHROMIUM`, else the first one on `PATH`.
 *
 * Returns `undefined` if there is none, so that a suite can be skipped by name. In CI, or if `CHROMIUM` cannot be executed, it
 * throws instead, because a check that did not run would look like one that passed.
 *
 * @param {Readonly<Record<string, string | undefined>>} [env]
 * @returns {string | undefined}
 */
export function findChromium(env = process.env) {
  if (env.CHROMIUM) {
    if (isExecutable(env.CHROMIUM)) return env.CHROMIUM
    throw new Error(`CHROMIUM names ${env.CHROMIUM}, which cannot be executed`)
  }
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  const found = names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable)
  if (found === undefined && env.CI) {
    throw new Error('Chromium is missing: install it (apt-get install -y chromium-headless-shell, or chromium) or name one in CHROMIUM')
  }
  return found
}
