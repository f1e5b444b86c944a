/*
 * WiredTiger's calls as functions. In its own interface they are members of structures that only its header describes,
 * some with a variable number of arguments.
 */
#include <stddef.h>

#include <wiredtiger.h>

int assay_wt_close(WT_CONNECTION *connection) { return connection->close(connection, NULL); }

int assay_wt_session(WT_CONNECTION *connection, WT_SESSION **session)
{
    return connection->open_session(connection, NULL, "isolation=snapshot", session);
}

int assay_wt_session_close(WT_SESSION *session) { return session->close(session, NULL); }

int assay_wt_create(WT_SESSION *session, const char *name, const char *config)
{
    return session->create(session, name, config);
}

int assay_wt_checkpoint(WT_SESSION *session) { return session->checkpoint(session, NULL); }

int assay_wt_begin(WT_SESSION *session) { return session->begin_transaction(session, NULL); }

int assay_wt_commit(WT_SESSION *session) { return session->commit_transaction(session, NULL); }

int assay_wt_rollback(WT_SESSION *session) { return session->rollback_transaction(session, NULL); }

int assay_wt_cursor(WT_SESSION *session, const char *name, const char *config, WT_CURSOR **cursor)
{
    return session->open_cursor(session, name, NULL, config, cursor);
}

int assay_wt_reset(WT_CURSOR *cursor) { return cursor->reset(cursor); }

void assay_wt_set_key(WT_CURSOR *cursor, const void *data, size_t size)
{
    WT_ITEM item = {0};
    item.data = data;
    item.size = size;
    cursor->set_key(cursor, &item);
}

void assay_wt_set_value(WT_CURSOR *cursor, const void *data, size_t size)
{
    WT_ITEM item = {0};
    item.data = data;
    item.size = size;
    cursor->set_value(cursor, &item);
}

int assay_wt_key(WT_CURSOR *cursor, const void **data, size_t *size)
{
    WT_ITEM item = {0};
    int code = cursor->get_key(cursor, &item);
    *data = item.data;
    *size = item.size;
    return code;
}

int assay_wt_value(WT_CURSOR *cursor, const void **data, size_t *size)
{
    WT_ITEM item = {0};
    int code = cursor->get_value(cursor, &item);
    *data = item.data;
    *size = item.size;
    return code;
}

int assay_wt_search(WT_CURSOR *cursor) { return cursor->search(cursor); }

int assay_wt_search_near(WT_CURSOR *cursor, int *beside) { return cursor->search_near(cursor, beside); }

int assay_wt_next(WT_CURSOR *cursor) { return cursor->next(cursor); }

int assay_wt_prev(WT_CURSOR *cursor) { return cursor->prev(cursor); }

int assay_wt_insert(WT_CURSOR *cursor) { return cursor->insert(cursor); }

int assay_wt_update(WT_CURSOR *cursor) { return cursor->update(cursor); }

int assay_wt_remove(WT_CURSOR *cursor) { return cursor->remove(cursor); }
