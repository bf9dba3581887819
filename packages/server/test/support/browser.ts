import { build } from 'esbuild'
import { chromium, type Browser } from 'playwright-core'
import { afterAll, beforeAll, describe } from 'vitest'
import { chromiumOptions, isChromiumMissing, titleInBrowser } from '../../../../scripts/chromium.ts'

/** Defines a suite in a real browser. If there is none, the suite is skipped and its title says so. */
export function describeInBrowser(name: string, suite: (browser: () => Browser) => void): void {
  describe.skipIf(isChromiumMissing)(titleInBrowser(name), () => {
    let browser: Browser
    beforeAll(async () => {
      browser = await chromium.launch(chromiumOptions)
    })
    afterAll(() => browser.close())
    suite(() => browser)
  })
}

/** Bundles a module with its imports for the browser. `instead` replaces imported modules. */
export async function bundlePage(contents: string, resolveDir: string, instead: Readonly<Record<string, string>> = {}): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir, loader: 'tsx' },
    plugins: [
      {
        name: 'instead',
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /^/ }, ({ path, namespace }) =>
            namespace !== 'instead' && path in instead ? { path, namespace: 'instead' } : undefined,
          )
          onLoad({ filter: /^/, namespace: 'instead' }, ({ path }) => ({ contents: instead[path] ?? '', resolveDir, loader: 'ts' }))
        },
      },
    ],
    bundle: true,
    format: 'esm',
    platform: 'browser',
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
    write: false,
    logLevel: 'silent',
  })
  return outputFiles[0]?.text ?? ''
}
