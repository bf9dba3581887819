import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { packageDocs } from '../package-docs.mjs'

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'bowline-package-docs-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  return folder
}

const folder = folderWith({
  'packages/client/README.md': '# @bowline/client\n\nTalks to a server. More.\n',
  'packages/client/package.json': '{ "homepage": "https://git.example/bowline/tree/main/packages/client#readme" }',
  'packages/llm/README.md': '# @bowline/llm\n\nOne call.\n',
  'docs/quick-start.md':
    '# Start\n\nBegin here. [Chat](cookbook/chat.md#a) [readme](../packages/client/README.md#b) [own](#c) [llm](../packages/llm/README.md) [web](https://example.org)\n\n```md\n[code](cookbook/chat.md)\n```\n\n`[code](cookbook/chat.md)`\n',
  'docs/cookbook/chat.md': '# Chat\n\nA page with `@bowline/client`. [Start](../quick-start.md) [other](models.md)\n',
  'docs/cookbook/models.md': '# Models\n\nOf `@bowline/client-kit`.\n\n```sh\nnpm install @bowline/client\n```\n',
  'docs/options.md': '# Options\n\nAll.\n\n## @bowline/llm\n\nno\n\n## @bowline/client\n\nyes\n\n## @bowline/client-kit\n\nno\n',
  'docs/decisions/0001-client.md': '# 0001\n\n`@bowline/client`\n',
})

it('D47: a package contains the pages that name it, a list of them, and its own section of the reference', () => {
  const docs = packageDocs('client', folder)
  expect(Object.keys(docs).toSorted()).toEqual(['cookbook/chat.md', 'llms.txt', 'options.md', 'quick-start.md'])
  expect(docs['options.md']).toBe('# Options\n\nAll.\n\n## @bowline/client\n\nyes\n\n')
  expect(docs['llms.txt']).toBe(
    '# @bowline/client\n\n> Talks to a server.\n\n## Start\n\n- [Start](quick-start.md): Begin here.\n\n## Cookbook\n\n- [Chat](cookbook/chat.md): A page with `@bowline/client`.\n\n## Reference\n\n- [Options](options.md): All.\n',
  )
})

it('D47: links of packaged pages lead into the tarball, or to the repository', () => {
  const docs = packageDocs('client', folder)
  expect(docs['quick-start.md']).toContain(
    '[Chat](cookbook/chat.md#a) [readme](../README.md#b) [own](#c) [llm](https://git.example/bowline/blob/main/packages/llm/README.md) [web](https://example.org)\n\n```md\n[code](cookbook/chat.md)\n```\n\n`[code](cookbook/chat.md)`',
  )
  expect(docs['cookbook/chat.md']).toContain(
    '[Start](../quick-start.md) [other](https://git.example/bowline/blob/main/docs/cookbook/models.md)',
  )
})
