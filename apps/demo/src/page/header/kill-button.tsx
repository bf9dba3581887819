import { Skull } from 'lucide-react'
import { useRef, useState } from 'react'
import type { ServerInfo } from '../../info.ts'

const delays = [0, 1, 2, 3, 5] as const

interface KillTexts {
  readonly label: string
  readonly question: string
  /** What happens then. */
  readonly outlook: string
}

interface KillButtonProps extends KillTexts {
  readonly onKill: (delayMs: number) => Promise<void>
}

/** Names what is killed: of several servers the one that runs the session. */
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

/** Ends a server process by SIGKILL, after a question. The supervisor starts the next one. */
export function KillButton({ label, question, outlook, onKill }: KillButtonProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [seconds, setSeconds] = useState<number>(0)
  return (
    <>
      <button type="button" className="button text-bad" onClick={() => dialog.current?.showModal()}>
        <Skull className="size-4" aria-hidden="true" />
        {label}
      </button>
      <dialog
        ref={dialog}
        aria-labelledby="kill-title"
        className="m-auto w-[min(26rem,90vw)] rounded-2xl border border-line bg-surface p-6 text-ink shadow-xl"
      >
        <form method="dialog" onSubmit={() => void onKill(seconds * 1000)}>
          <h2 id="kill-title" className="text-lg font-semibold">
            {question}
          </h2>
          <p className="mt-2 text-sm text-ink-soft">
            It gets a SIGKILL: no farewell, nothing is saved on the way out. {outlook}
          </p>
          <label className="mt-4 flex items-center gap-3 text-sm">
            When
            <select className="field w-auto" value={seconds} onChange={(event) => setSeconds(Number(event.target.value))}>
              {delays.map((delay) => (
                <option key={delay} value={delay}>
                  {delay === 0 ? 'now' : `in ${delay} s`}
                </option>
              ))}
            </select>
          </label>
          <div className="mt-6 flex justify-end gap-2">
            <button type="button" className="button" onClick={() => dialog.current?.close()}>
              Let it live
            </button>
            <button type="submit" className="button button-danger">
              Kill it
            </button>
          </div>
        </form>
      </dialog>
    </>
  )
}
