import { createServer } from 'node:http'
import { expect, it } from 'vitest'
import { describeInBrowser } from './browser.ts'

describeInBrowser('a page from elsewhere', ({ url: demoUrl, visit }) => {
  it('D5: gets 403 from the API, although the browser holds the cookie', () =>
    visit(async (tab) => {
      const stranger = createServer((_request, response) => response.setHeader('content-type', 'text/html').end('<p>hello</p>'))
      await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve))
      const address = stranger.address()
      const port = typeof address === 'object' && address ? address.port : 0
      try {
        const page = await tab.page.context().newPage()
        await page.goto(`http://127.0.0.1:${port}`)
        // Data that the page may not see is only visible to the debugger.
        const debug = await page.context().newCDPSession(page)
        await debug.send('Network.enable')
        const url = new URL('/api/agent/sessions', demoUrl).href
        // The browser also requests an icon: only this one request counts. Its two events come in any order.
        const asked = Promise.withResolvers<string>()
        const statuses = new Map<string, number>()
        debug.on('Network.requestWillBeSent', ({ request, requestId }) => request.url === url && asked.resolve(requestId))
        debug.on('Network.responseReceivedExtraInfo', ({ requestId, statusCode }) => statuses.set(requestId, statusCode))
        const outcome = await page.evaluate(
          (address) =>
            fetch(address, { credentials: 'include' }).then(
              () => 'answered',
              () => 'refused',
            ),
          url,
        )
        expect(outcome).toBe('refused')
        const id = await asked.promise
        await expect.poll(() => statuses.get(id)).toBe(403)
      } finally {
        stranger.closeAllConnections()
        stranger.close()
      }
    }))
})
