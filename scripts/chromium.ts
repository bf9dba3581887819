import { findChromium } from './find-chromium.mjs'

/** In CI a missing browser throws here, so that the job fails. */
const executablePath = findChromium()

/** True if there is no browser: tests that need one are skipped. */
export const isChromiumMissing = executablePath === undefined

/** Returns the title of a test or suite. If it is skipped, the title says why. */
export function titleInBrowser(name: string): string {
  return isChromiumMissing ? `${name} (skipped: there is no Chromium; install it or name one in CHROMIUM)` : name
}

/** Options with which Playwright starts the browser. */
export const chromiumOptions = {
  executablePath: executablePath ?? '',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
}
