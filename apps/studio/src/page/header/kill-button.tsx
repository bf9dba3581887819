import { Skull } from 'lucide-react'
import { Dialog } from 'radix-ui'
import { useState } from 'react'
import type { ServerInfo } from '../../info.ts'

/** Time at which the server is killed: after a delay, or at a point of the session's run. */
export type KillRequest = { readonly delayMs: number } | { readonly at: KillMoment }
export type KillMoment = 'before-commit' | 'after-commit' | 'in-tool' | 'after-result'

const moments: readonly { readonly value: string; readonly text: string; readonly request: KillRequest }[] = [
  ...[0, 1, 2, 3, 5].map((seconds) => ({
    value: String(seconds),
    text: seconds === 0 ? 'now' : `in ${seconds} s`,
    request: { delayMs: seconds * 1000 },
  })),
  { value: 'before-commit', text: 'before the next commit', request: { at: 'before-commit' } },
  { value: 'after-commit', text: 'after the next commit', request: { at: 'after-commit' } },
  { value: 'in-tool', text: 'in the next tool', request: { at: 'in-tool' } },
  { value: 'after-result', text: 'after the next result of a tool', request: { at: 'after-result' } },
]

interface KillTexts {
  readonly label: string
  readonly question: string
  /** Consequence of the kill. */
  readonly outlook: string
}

interface KillButtonProps extends KillTexts {
  readonly onKill: (request: KillRequest) => Promise<void>
}

/** Returns texts that name what is killed. If there are several servers, it is the one that runs the session. */
export function killTexts(servers: readonly ServerInfo[] | undefined): KillTexts {
  if (!servers) {
    return {
      label: 'Kill the server',
      question: 'Kill the server process?',
      outlook: 'A new process takes up the open runs. With a delay you can start something first and have it hit in the middle.',
    }
  }
  const owner = servers.find(({ isOwner }) => isOwner)
  const label = owner ? `Kill server ${owner.name}` : 'Kill a server'
  return {
    label,
    question: `${label}?`,
    outlook:
      'The other server takes up its runs, and this page keeps its stream. With a delay you can start something first: then the server that runs this session by then is hit.',
  }
}

/** Kills a server process with SIGKILL, after a confirmation. The supervisor starts the next one. */
export function KillButton({ label, question, outlook, onKill }: KillButtonProps) {
  const [value, setValue] = useState('0')
  const request = moments.find((moment) => moment.value === value)?.request ?? { delayMs: 0 }
  return (
    <Dialog.Root>
      <Dialog.Trigger title={label} className="button text-bad max-sm:px-2">
        <Skull className="size-4" aria-hidden="true" />
        <span className="max-sm:sr-only">{label}</span>
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content className="dialog w-[min(26rem,92vw)]">
          <Dialog.Title className="text-lg font-semibold">{question}</Dialog.Title>
          <Dialog.Description className="mt-2 text-sm text-ink-soft">
            It gets a SIGKILL: no farewell, nothing is saved on the way out. {outlook}
          </Dialog.Description>
          <label className="mt-4 flex items-center gap-3 text-sm">
            When
            <select className="field w-auto" value={value} onChange={(event) => setValue(event.target.value)}>
              {moments.map((moment) => (
                <option key={moment.value} value={moment.value}>
                  {moment.text}
                </option>
              ))}
            </select>
          </label>
          <div className="mt-6 flex justify-end gap-2">
            <Dialog.Close className="button">Let it live</Dialog.Close>
            <Dialog.Close className="button button-danger" onClick={() => void onKill(request)}>
              Kill it
            </Dialog.Close>
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
