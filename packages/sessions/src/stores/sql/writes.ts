import type { CallKey, NewEntry, NewEvent, Write } from '../../store/contract.ts'
import { Refused, refuseUnless } from '../refused.ts'
import { isHolding, newRun, newSession, patchRun, patchSession } from '../rules.ts'
import { callRow, sessionColumns } from './rows.ts'
import { findRun, insertRun, recordText, sessionOf, updateRun } from './work.ts'
import type { HeldRun, HeldSession, Work } from './work.ts'

type Writes = { readonly [T in Write['op']]: (work: Work, write: Extract<Write, { op: T }>) => Promise<void> }

const writes: Writes = {
  async 'session.ensure'(work, { session }) {
    if (work.session) return
    const { connection, namespace, batch } = work
    const record = newSession(batch.key, session)
    const { row } = await connection
      .insertInto('session')
      .values({
        namespace,
        key: batch.key,
        id: record.id,
        agent: record.agent,
        owner: record.owner ?? null,
        created_at: record.createdAt,
        next_entry: 1,
        ...sessionColumns(record),
      })
      .returning('row')
      .executeTakeFirstOrThrow()
    work.session = { row, record, nextEntry: 1, lastBatch: undefined }
  },

  async 'session.patch'(work, { patch }) {
    const session = sessionOf(work)
    const { leaf } = patch
    refuseUnless(typeof leaf !== 'string' || (await hasEntry(work, session, leaf)), 'conflict')
    session.record = patchSession(session.record, patch)
  },

  async 'entry.append'(work, { entries }) {
    const session = sessionOf(work)
    for (const entry of entries) {
      refuseUnless(entry.parentId === null || (await hasEntry(work, session, entry.parentId)), 'conflict')
      refuseUnless(!(await hasEntry(work, session, entry.id)), 'conflict')
      await insertEntry(work, session, entry)
      session.nextEntry += 1
      session.record = { ...session.record, leaf: entry.id }
    }
  },

  async 'event.append'(work, { events }) {
    const session = sessionOf(work)
    for (const event of events) {
      await insertEvent(work, session, event)
      session.record = { ...session.record, nextSeq: session.record.nextSeq + 1 }
    }
  },

  async 'run.insert'(work, { run }) {
    const session = sessionOf(work)
    refuseUnless(!(await runExists(work, run.id)), 'conflict')
    const { input, ...state } = newRun(session.record, run)
    const body = recordText(work, input, `The input of run ${run.id}`)
    const { row } = await insertRun(work, state)
    await work.connection.insertInto('run_input').values({ run: row, body }).execute()
    session.record = { ...session.record, nextRun: session.record.nextRun + 1 }
  },

  async 'run.patch'(work, { runId, patch }) {
    const run = await findRun(work, runId)
    if (!run) throw new Refused('conflict')
    const next = patchRun(run.state, patch, work.now)
    refuseUnless(!isHolding(next.status) || isHolding(run.state.status) || !(await isHeld(work)), 'busy')
    await updateRun(work, run, next)
  },

  async 'call.put'(work, { calls }) {
    const session = sessionOf(work)
    for (const call of calls) {
      const run = await findRun(work, call.runId)
      if (!run) throw new Refused('conflict')
      refuseUnless((await callState(work, run, call)) !== 'settled', 'conflict')
      const text = call.outcome && recordText(work, call.outcome, `The outcome of call ${call.toolCallId}`)
      const row = callRow(call, run.row, session.row, text ?? null)
      await work.connection
        .insertInto('tool_call')
        .values(row)
        .onConflict((conflict) => conflict.columns(['run', 'step', 'tool_call_id']).doUpdateSet(row))
        .execute()
      work.changedRuns.add(call.runId)
    }
  },

  async 'inbox.put'(work, { rows }) {
    const { row: session, record } = sessionOf(work)
    for (const [place, { id, kind, at, body }] of rows.entries()) {
      const text = recordText(work, body, `The inbox row ${id}`)
      const { numInsertedOrUpdatedRows } = await work.connection
        .insertInto('inbox')
        .values({ session, id, kind, at, body: text, version: record.version, place })
        .onConflict((conflict) => conflict.columns(['session', 'id']).doNothing())
        .executeTakeFirst()
      refuseUnless(numInsertedOrUpdatedRows === 1n, 'inbox')
    }
  },

  async 'inbox.take'(work, { ids }) {
    const { row } = sessionOf(work)
    for (const id of ids) {
      await work.connection.deleteFrom('inbox').where('session', '=', row).where('id', '=', id).execute()
    }
  },
}

export async function applyWrites(work: Work): Promise<void> {
  for (const write of work.batch.writes) await writes[write.op](work, write as never)
}

async function hasEntry({ connection }: Work, session: HeldSession, id: string): Promise<boolean> {
  const entry = await connection
    .selectFrom('entry')
    .select('n')
    .where('session', '=', session.row)
    .where('id', '=', id)
    .executeTakeFirst()
  return entry !== undefined
}

async function insertEntry(work: Work, session: HeldSession, entry: NewEntry): Promise<void> {
  const own = 'message' in entry ? entry.message : 'compaction' in entry ? entry.compaction : undefined
  const body = own ? recordText(work, own, `The entry ${entry.id}`) : null
  const { id, parentId, type, at, runId } = entry
  const call = await callColumns(work, 'call' in entry ? entry.call : undefined)
  await work.connection
    .insertInto('entry')
    .values({ session: session.row, id, n: session.nextEntry, parent_id: parentId, type, at, run_id: runId ?? null, body, ...call })
    .execute()
}

async function insertEvent(work: Work, session: HeldSession, { event, refers }: NewEvent): Promise<void> {
  const body = recordText(work, event, `An event of type ${event.type}`)
  const inputRun = refers && 'runInput' in refers ? await runRow(work, refers.runInput) : null
  const call = await callColumns(work, refers && 'call' in refers ? refers.call : undefined)
  await work.connection
    .insertInto('event')
    .values({
      session: session.row,
      seq: session.record.nextSeq,
      body,
      entry_id: refers && 'entryId' in refers ? refers.entryId : null,
      input_run: inputRun,
      ...call,
    })
    .execute()
}

async function callColumns(work: Work, call: CallKey | undefined) {
  if (!call) return { call_run: null, call_step: null, call_id: null }
  work.callsReferredTo.push(call)
  return { call_run: await runRow(work, call.runId), call_step: call.step, call_id: call.toolCallId }
}

async function runRow(work: Work, runId: string): Promise<number> {
  const run = await findRun(work, runId)
  if (!run) throw new Refused('conflict')
  return run.row
}

/** In any session: the id of a run is its own in the whole namespace. */
async function runExists({ connection, namespace }: Work, runId: string): Promise<boolean> {
  const run = await connection
    .selectFrom('run')
    .select('row')
    .where('namespace', '=', namespace)
    .where('id', '=', runId)
    .executeTakeFirst()
  return run !== undefined
}

async function isHeld(work: Work): Promise<boolean> {
  const holding = await work.connection
    .selectFrom('run')
    .select('row')
    .where('session', '=', sessionOf(work).row)
    .where('ended_at', 'is', null)
    .where('status', '<>', 'queued')
    .executeTakeFirst()
  return holding !== undefined
}

export async function callState({ connection }: Work, run: HeldRun, { step, toolCallId }: Omit<CallKey, 'runId'>) {
  const call = await connection
    .selectFrom('tool_call')
    .select('state')
    .where('run', '=', run.row)
    .where('step', '=', step)
    .where('tool_call_id', '=', toolCallId)
    .executeTakeFirst()
  return call?.state
}
