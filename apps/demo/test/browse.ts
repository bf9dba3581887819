/** Opens the page like a browser: loads it, keeps the cookie, and calls the API with it. */
export async function openPage(url: string) {
  const page = await fetch(url)
  const cookie = (page.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  return {
    page,
    request: (path: string, init: RequestInit = {}): Promise<Response> =>
      fetch(new URL(path, url), { ...init, headers: { cookie, ...Object.fromEntries(new Headers(init.headers)) } }),
    post: (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
      fetch(new URL(path, url), {
        method: 'POST',
        headers: { cookie, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
  }
}

/** Returns the last frame of an execute stream. */
export async function lastFrame(response: Response): Promise<Record<string, unknown>> {
  const data = (await response.text()).split('\n').filter((line) => line.startsWith('data: '))
  return JSON.parse(data.at(-1)?.slice('data: '.length) ?? '{}') as Record<string, unknown>
}
