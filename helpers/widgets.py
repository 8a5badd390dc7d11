def drag_query(keys): print("widget")
