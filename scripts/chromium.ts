import { findChromium } from './find-chromium.mjs'

/** In CI a missing browser throws here, so that the job fails. */
const executablePath = findChromium()

/** There is no browser: what needs one is skipped. */
export const isChromiumMissing = executablePath === undefined

/** Returns the title of a test or suite, which says why it is skipped. */
export function titleInBrowser(name: string): string {
  return isChromiumMissing ? `${name} (skipped: there is no Chromium; install it or name one in CHROMIUM)` : name
}

/** How Playwright starts it. */
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
