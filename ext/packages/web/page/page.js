// The page: a picture, a list that is asked, sizes, and SQL. Everything shown is computed by the
// extension, in workers, so that nothing stops the page.

async function start() {
  delete document.body.dataset.ready; // of a page that was saved as it stood
  // What needs SQLite waits for it.
  for (const id of ["list-options", "choose"]) element(id).inert = true;
  try {
    startWriting();
    await startAsking();
    element("list-options").inert = false;
    const tools = await openDatabase();
    [[element("version").textContent]] = await rowsOf(tools, "SELECT bloom_build()");
    await startPicture(tools);
    await startChoosing(tools);
    element("choose").inert = false;
    document.body.dataset.ready = "yes";
  } catch (error) {
    showProblem("list-problem", `The page could not start: ${error.message}`);
    throw error;
  }
}

start();
// For the test of the page alone.
globalThis.bloomPage = { openDatabase, probesOf, isSet, shown: () => lastShown };
