// node use-studio.mjs BIN: starts a server from the other tarballs and the studio of its tarball for it, and sends requests to
// both.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

const [bin] = process.argv.slice(2)
writeFileSync(
  'agents.mjs',
  `
import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
export const assistant = defineAgent({ name: 'assistant', model: scriptedModel(() => ({ text: 'Hello.' })) })
`,
)
const started = []
try {
  const server = await start(
    join('node_modules/.bin/bowline-server'),
    ['--agents', 'agents.mjs', '--auth', 'none', '--store', 'memory:', '--port', '0'],
    /listening on (\S+)/,
  )
  const port = await freePort()
  const studio = await start(bin, ['--server', server, '--port', String(port)], /ready: (\S+)/)
  const page = await textOf(studio, '/')
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(page)?.[1]
  if (!script) throw new Error(`the page names no script: ${page}`)
  await textOf(studio, script)
  const info = JSON.parse(await textOf(studio, '/studio/info'))
  const { agents } = JSON.parse(await textOf(studio, '/api/agents'))
  if (info.server !== server || agents[0].id !== 'assistant') throw new Error(`the studio says ${JSON.stringify({ info, agents })}`)
  console.log('The studio of the tarball shows its page, before a server.')
} finally {
  for (const child of started) child.kill('SIGKILL')
}

/** Starts a program and resolves with the match of the form in its output. */
function start(command, args, form) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  started.push(child)
  let said = ''
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        said += text
        const found = form.exec(said)
        if (found) resolve(found[1])
      })
    }
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`${command} ended with ${code}: ${said}`)))
  })
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer()
      .once('error', reject)
      .listen(0, '127.0.0.1', () => {
        const { port } = probe.address()
        probe.close(() => resolve(port))
      })
  })
}

async function textOf(base, path) {
  const response = await fetch(`${base}${path}`)
  if (!response.ok) throw new Error(`${path} is ${response.status}: ${await response.text()}`)
  return response.text()
}
