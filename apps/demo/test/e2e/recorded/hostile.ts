import { APICallError } from '@ai-sdk/provider'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import type { Agent } from '@bowline/agent-loop'
import type { Clock } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import type { Step } from '@bowline/llm/testing'

export const hostileName = 'hostile'

/** Host from which nothing may be loaded. */
const elsewhere = 'http://elsewhere.example'
/** Returns code that sets the variable by which a test sees that a script has run. */
const run = (by: string): string => `window.ran = '${by}'`

/** Texts that run code or load resources if a page treats them as HTML. */
export const hostileHtml = [
  `<script>${run('script')}</script>`,
  `<img src="x" onerror="${run('picture')}">`,
  `<svg onload="${run('svg')}"><script>${run('svg script')}</script></svg>`,
  `<iframe src="${elsewhere}/frame" srcdoc="<script>parent.${run('frame')}</script>"></iframe>`,
  `<img src="${elsewhere}/picture.png"><video src="${elsewhere}/film.mp4" autoplay></video>`,
  `<link rel="stylesheet" href="${elsewhere}/style.css"><style>@import url(${elsewhere}/import.css); * { background: url(${elsewhere}/back.png) }</style>`,
  `<div style="position:fixed;inset:0;background:url(${elsewhere}/cover.png)" onmouseover="${run('div')}">covered</div>`,
  `<form action="${elsewhere}/form"><input name="word" autofocus onfocus="${run('field')}"><button>Send it</button></form>`,
  `<a href="javascript:${run('raw link')}">raw link</a> <base href="${elsewhere}/"><meta http-equiv="refresh" content="0;url=${elsewhere}/moved">`,
].join('\n\n')

const hostileMarkdown = [
  '## What a model may say',
  hostileHtml,
  `![a picture](${elsewhere}/picture.png "title") and ![another](x" onerror="${run('alt')})`,
  `[script link](javascript:${encodeURIComponent(run('link'))}) and [data link](data:text/html,<script>${run('data')}</script>) and [a page](https://example.org/page)`,
  `| a | b |\n| - | - |\n| <img src=x onerror="${run('cell')}"> | [x](javascript:${run('cell')}) |`,
  `\`\`\`html\n<script>${run('code')}</script>\n\`\`\``,
  'The end of it.',
].join('\n\n')

/** Half a tag in each piece while it is written. */
const hostileStream = `First **bold words**, then <b>tags</b> and <img src="x" onerror="${run('stream')}">, a [link](https://example.org/long/page) and <script>${run('stream script')}</script> the end.`

/** So slow that a test can check each piece. */
export const streamDelayMs = 20

/** Creates an agent with harmful output. The last user message selects the output. */
export function hostileAgent(clock: Clock): Agent {
  return defineAgent({
    name: hostileName,
    description: 'Answers with what would harm a careless page.',
    model: scriptedModel(
      ({ prompt }): Step => {
        const last = prompt.at(-1)
        if (last?.role === 'tool') return { text: hostileMarkdown }
        const text = JSON.stringify(last?.content)
        if (text.includes('wrong key'))
          return {
            error: new APICallError({ message: 'Incorrect API key provided.', statusCode: 401, url: 'hostile:', requestBodyValues: {} }),
          }
        if (text.includes('one megabyte')) return { text: `Of one megabyte. ${'knot '.repeat(210_000)}` }
        if (text.includes('piece by piece')) return { text: hostileStream, chunk: 3, deltaDelayMs: streamDelayMs }
        return { text: 'I look.', toolCalls: [{ name: 'look', input: { at: hostileHtml } }] }
      },
      { clock },
    ),
    tools: [
      defineTool({
        name: 'look',
        label: '<b>Look</b>',
        description: 'Looks.',
        effect: 'pure',
        inputSchema: { type: 'object', properties: { at: { type: 'string' } } },
        execute: () => ({ output: hostileHtml }),
      }),
    ],
  })
}
