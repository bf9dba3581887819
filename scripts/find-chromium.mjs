import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

// The one without windows needs a third less time.
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
 * The Chromium of this machine: the one that `CHROMIUM` names, else the first one on `PATH`.
 *
 * Gives `undefined` where there is none, so that a suite can be skipped by name; in CI, or when `CHROMIUM` names
 * nothing that runs, it throws instead, because a check that quietly did not run looks like one that passed.
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
